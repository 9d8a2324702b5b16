//go:build unix

package postgres

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// inNearlyTheirOrder returns sent, delivered and read of each message, shuffled over some seconds
// of sending. A batch that changed every row of a page would find no space in it before its commit.
func inNearlyTheirOrder(no campaign.RunNo, n int64) []campaign.StatusEvent {
	var all []campaign.StatusEvent
	for _, s := range []campaign.Status{campaign.Sent, campaign.Delivered, campaign.Read} {
		for seq := range n {
			all = append(all, campaign.StatusEvent{MessageID: ledgertest.MessageID(no, seq), Status: s, At: time.Now()})
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range all {
		j := min(len(all)-1, i+rng.IntN(2000))
		all[i], all[j] = all[j], all[i]
	}
	return all
}

func TestStatusesAreHeapOnlyUpdates(t *testing.T) {
	const n = 10_000
	l := openShared(t, ledger.Options{Sender: true})
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

func TestWhatNoDatabaseStoresSpoilsNoBatch(t *testing.T) {
	l := openShared(t, ledger.Options{})
	r := ledgertest.Load(t, l, 3)
	ledgertest.ClaimAll(t, l, r.No)
	odd := "a\x00b\xffc"
	long := strings.Repeat("x", 100_000)
	accepted := campaign.Result{Run: r.No, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: odd, Warning: odd}
	refused := campaign.Result{Run: r.No, Seq: 1, Attempt: 1, Kind: campaign.ResultRefused,
		Code: odd, Detail: odd, RequestID: odd, TraceID: odd}
	fine := campaign.Result{Run: r.No, Seq: 2, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: "fine"}
	if err := l.Record(t.Context(), []campaign.Result{accepted, refused, fine}); err != nil {
		t.Fatal(err)
	}
	done, err := l.Apply(t.Context(), campaign.Events{
		Statuses: []campaign.StatusEvent{
			{MessageID: odd, Status: campaign.Failed, Code: odd, Connection: odd}, {MessageID: long, Status: campaign.Sent},
			{MessageID: odd + "?", Status: campaign.Failed, Code: odd, Connection: odd}, {MessageID: "fine", Status: campaign.Read}},
		Suppressions: []campaign.Suppression{{Key: 1, To: odd, Scope: campaign.ScopeAll, Source: odd}},
		Holds: []campaign.Hold{{Scope: campaign.HoldTemplate, ID: campaign.TemplateID("acc", odd, odd), Reason: odd, Detail: odd,
			Source: campaign.HoldByEvent}},
		Lifts: []campaign.Lift{{Scope: campaign.HoldTemplate, ID: odd, Reason: odd, By: campaign.HoldByEvent, At: time.Now()}}})
	if err != nil || done != (campaign.Applied{Matched: 2, Orphaned: 2}) {
		t.Errorf("got %+v %v; want no error, %+v", done, err, campaign.Applied{Matched: 2, Orphaned: 2})
	}
	late := campaign.Result{Run: r.No, Seq: 1, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: long}
	if err := l.Record(t.Context(), []campaign.Result{late}); err != nil {
		t.Error(err)
	}
}
