//go:build unix

package postgres

import (
	"math/rand/v2"
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
