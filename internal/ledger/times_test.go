package ledger

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"campaignd/campaign"
)

// within reads a time that the ledger stored and fails unless it lies between began and now.
func within(t *testing.T, l restorable, began time.Time, query string) {
	t.Helper()
	text := stored(t, l, query)
	got, err := strconv.ParseInt(text, 10, 64)
	if from, to := millis(began), millis(time.Now()); err != nil || got < from || got > to {
		t.Errorf("%s: %q; want the time of the call, %d to %d", query, text, from, to)
	}
}

// What comes without a time happened when it was told.
func TestWhatHasNoTimeHappenedNow(t *testing.T) {
	t.Parallel()
	onEachBackend(t, func(t *testing.T, l restorable) {
		began := time.Now().Truncate(time.Millisecond)
		r := load(t, l, 4)
		lease := claimAll(t, l, r.No)[0]
		if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 4}}); err != nil {
			t.Fatalf("intending: %v; want no error", err)
		}
		rs := acceptances(lease, 0, 4)
		for i, kind := range []campaign.ResultKind{campaign.ResultRefused, campaign.ResultDeferred, campaign.ResultDoubt} {
			rs[i].Kind, rs[i].MessageID, rs[i].At, rs[i].Code = kind, "", time.Time{}, "busy"
		}
		if err := l.Record(t.Context(), rs); err != nil {
			t.Fatalf("recording: %v; want no error", err)
		}
		for seq := range int64(3) {
			within(t, l, began, fmt.Sprintf(`SELECT result_at || '' FROM outcome WHERE rid = %d`, rid(r.No, seq)))
		}

		if _, err := l.Suppress(t.Context(), []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing}}); err != nil {
			t.Fatalf("suppressing: %v; want no error", err)
		}
		within(t, l, began, `SELECT at || '' FROM suppression WHERE key = 1`)
		if _, err := l.Apply(t.Context(), campaign.Events{Lifted: []campaign.Suppression{{Key: 1}}}); err != nil {
			t.Fatalf("lifting: %v; want no error", err)
		}
		if got := stored(t, l, `SELECT count(*) || '' FROM suppression`); got != "0" {
			t.Errorf("suppressions after a lift without a time: %s; want 0", got)
		}

		e := campaign.StatusEvent{MessageID: rs[3].MessageID, Status: campaign.Sent}
		if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{e}}); err != nil {
			t.Fatalf("applying %+v: %v; want no error", e, err)
		}
		within(t, l, began, fmt.Sprintf(`SELECT sent_at || '' FROM outcome WHERE rid = %d`, rid(r.No, 3)))
	})
}

// A status's own time counts, unless it lies more than five minutes beyond when it came.
func TestAStatusFromTheFutureHasTheTimeItCame(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	came, none := now.Add(-time.Hour), time.Time{}
	for _, c := range []struct{ at, received, wantAt, wantReceived time.Time }{
		{none, none, now, now},
		{none, came, came, came},
		{came, none, came, now},
		{came.Add(-time.Minute), came, came.Add(-time.Minute), came},
		{came.Add(5 * time.Minute), came, came.Add(5 * time.Minute), came},
		{came.Add(5*time.Minute + 1), came, came, came},
		{now.Add(5 * time.Minute), none, now.Add(5 * time.Minute), now},
		{now.Add(5*time.Minute + 1), none, now, now},
	} {
		at, received := settleTime(campaign.StatusEvent{At: c.at, ReceivedAt: c.received}, now)
		if !at.Equal(c.wantAt) || !received.Equal(c.wantReceived) {
			t.Errorf("of %v that came at %v: %v, %v; want %v, %v", c.at, c.received, at, received, c.wantAt, c.wantReceived)
		}
	}
}

// The numbers stand in ledgers of every age, and in the text of their statements.
func TestStoredNumbersNeverChange(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint([]outcome{deferred, retrying, doubt, unknown, accepted, refused, skipped},
		[]rank{rankNone, rankSent, rankFailed, rankDelivered, rankRead},
		[]int{flagAdopted, flagMaybeDuplicate, flagNoResend, flagAmbiguous, flagRepeatedID, flagAnyConnection},
		[]string{codeInterrupted, codeReleased, codeRestored, eventDisabled})
	if want := "[1 2 3 4 5 6 7] [0 1 2 3 4] [1 2 4 8 16 32] [interrupted released restored DISABLED]"; got != want {
		t.Errorf("stored as %s; want %s", got, want)
	}
}
