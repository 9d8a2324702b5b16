package ledger

import (
	"errors"
	"strings"
	"testing"

	"campaignd/campaign"
)

// Facts merge: an acceptance replaces all but an acceptance; the others only what their own attempt left.
func TestOnlyItsOwnAttemptIsAnswered(t *testing.T) {
	t.Parallel()
	states := []outcome{deferred, retrying, doubt, unknown, accepted, refused, skipped}
	for _, c := range []struct {
		kind      campaign.ResultKind
		same      []outcome // replaced by a result of the same attempt
		different []outcome // of another attempt
	}{
		{campaign.ResultAccepted, []outcome{deferred, retrying, doubt, unknown, refused, skipped}, []outcome{deferred, retrying, doubt, unknown, refused, skipped}},
		{campaign.ResultRefused, []outcome{retrying, doubt}, nil},
		{campaign.ResultDeferred, []outcome{retrying, doubt}, nil},
		{campaign.ResultDoubt, []outcome{retrying}, nil},
		{99, nil, nil},
	} {
		for attempt, want := range map[int][]outcome{1: c.different, 2: c.same, 3: c.different} {
			for _, o := range states {
				wanted := false
				for _, w := range want {
					wanted = wanted || w == o
				}
				if got := accepts(c.kind, attempt, o, 2); got != wanted {
					t.Errorf("kind %d of attempt %d on state %d of attempt 2: %v; want %v", c.kind, attempt, o, got, wanted)
				}
			}
		}
	}
}

func TestOnlyAWebhooksStatusHasARank(t *testing.T) {
	t.Parallel()
	for s, want := range map[campaign.Status]rank{campaign.Sent: 1, campaign.Failed: 2, campaign.Delivered: 3, campaign.Read: 4,
		campaign.Accepted: 0, campaign.Refused: 0, campaign.Queued: 0, "": 0} {
		if got, ok := rankOf(s); got != want || ok != (want > 0) {
			t.Errorf("%q: rank %d, %v; want %d, %v", s, got, ok, want, want > 0)
		}
	}
}

// A reader changes nothing, so it cannot bring an older ledger up to date.
func TestAnOlderSchemaIsNotRead(t *testing.T) {
	t.Parallel()
	onEachBackend(t, func(t *testing.T, l restorable) {
		changed(t, l, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
		var err error
		switch l := l.(type) {
		case *SQLite:
			_, err = OpenSQLite(t.Context(), l.Path(), Options{ReadOnly: true})
		case *Postgres:
			dir, failed := migrations()
			if failed != nil {
				t.Fatalf("the migrations: %v; want no error", failed)
			}
			l.readOnly = true
			err = l.explain(l.migrate(t.Context(), dir))
			l.readOnly = false
		}
		const want = "its schema (1) is older than this program's (2): open it once with `campaignd serve` or `run`"
		if err == nil || errors.Is(err, campaign.ErrNewer) || !strings.Contains(err.Error(), want) {
			t.Errorf("read: %v; want an error with %q", err, want)
		}
	})
}
