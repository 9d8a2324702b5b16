//go:build long && unix

package postgres

import (
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

func TestStatusesAreHeapOnlyUpdates(t *testing.T) {
	const n = 10_000
	l := openUnused(t, ledger.Options{Sender: true})
	r := sentAll(t, l, n)
	for es := range slices.Chunk(inNearlyTheirOrder(r.No, n), 256) {
		if a, err := l.Apply(t.Context(), campaign.Events{Statuses: es}); err != nil || a.Matched != len(es) {
			t.Fatalf("got %+v, %v; want no error, Matched %+v", a, err, len(es))
		}
	}
	l.sender.Forget() // a backend reports all its updates when it ends
	l.hooks.Forget()
	const least = 3 * n * 99 / 100 // two statuses of a message in one batch are one update
	var updates, hot int64
	counters := rowOf([]any{&updates, &hot}, `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'outcome'`)
	for deadline := time.Now().Add(2 * time.Minute); updates < least && time.Now().Before(deadline); {
		if err := l.read(t.Context(), l.reports, counters); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // the server counts late
	}
	if updates < least || float64(hot) < 0.9*float64(updates) {
		t.Errorf("%d of %d updates were heap-only, want 90 %% of at least %d", hot, updates, least)
	}
	t.Logf("%d of %d updates were heap-only", hot, updates)
}
