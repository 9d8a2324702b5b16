package ledgertest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// within reads a time that the ledger stored and fails unless it lies between began and now.
func within(t *testing.T, l Tables, began time.Time, query string) {
	t.Helper()
	text := stored(t, l, query)
	got, err := strconv.ParseInt(text, 10, 64)
	if from, to := ledger.Millis(began), ledger.Millis(time.Now()); err != nil || got < from || got > to {
		t.Errorf("%s: %q; want the time of the call, %d to %d", query, text, from, to)
	}
}

// Anything that comes without a time gets the time of the call. The exception is a lift: without a
// time it lifts nothing.
func whatHasNoTimeHappenedNow(t *testing.T, l Tables) {
	began := time.Now().Truncate(time.Millisecond)
	r := Load(t, l, 4)
	lease := ClaimAll(t, l, r.No)[0]
	mustIntend(t, l, campaign.Intent{Lease: lease, Connection: "conn_1", To: 4})
	rs := Acceptances(lease, 0, 4)
	for i, kind := range []campaign.ResultKind{campaign.ResultRefused, campaign.ResultDeferred, campaign.ResultDoubt} {
		rs[i].Kind, rs[i].MessageID, rs[i].At, rs[i].Code = kind, "", time.Time{}, "busy"
	}
	mustRecord(t, l, rs)
	for seq := range int64(3) {
		within(t, l, began, fmt.Sprintf(`SELECT result_at || '' FROM outcome WHERE rid = %d`, ledger.RowID(r.No, seq)))
	}

	if _, err := l.Suppress(t.Context(), []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing}}); err != nil {
		t.Fatalf("suppressing: %v; want no error", err)
	}
	within(t, l, began, `SELECT at || '' FROM suppression WHERE key = 1`)
	if _, err := l.Apply(t.Context(), campaign.Events{Lifted: []campaign.Suppression{{Key: 1}}}); err != nil {
		t.Fatalf("lifting: %v; want no error", err)
	}
	if got := stored(t, l, `SELECT count(*) || '' FROM suppression`); got != "1" {
		t.Errorf("suppressions after a lift without a time: %s; want 1, because it may be older than the opt-out", got)
	}

	e := campaign.StatusEvent{MessageID: rs[3].MessageID, Status: campaign.Sent}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{e}}); err != nil {
		t.Fatalf("applying %+v: %v; want no error", e, err)
	}
	within(t, l, began, fmt.Sprintf(`SELECT sent_at || '' FROM outcome WHERE rid = %d`, ledger.RowID(r.No, 3)))
}
