package ledgertest

import (
	"fmt"
	"time"

	"campaignd/campaign"
)

// Events that lift, permit or heal something count from the earlier of own time and first receipt.
var liftPromises = []promise{
	{"AnOptInCountsFromItsFirstReceipt", func(f *fixture) {
		stop := func(second, want int) {
			f.Helper()
			f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{
				{Key: 1, Scope: campaign.ScopeMarketing, Source: "stop", At: at(second)}}}))
			f.hasSuppressed(want, "after a stop of %d s", second)
		}
		resume := func(own, received, want int) {
			f.Helper()
			f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{{Key: 1, At: at(own), ReceivedAt: at(received)}}}))
			f.hasSuppressed(want, "after a resume of %d s that came at %d s", own, received)
		}
		stop(-5, 1)
		resume(240, 0, 0)
		stop(-5, 0) // delivered again
		stop(10, 1)
		resume(240, 20, 1) // the same event again
		resume(240, 300, 1)
		resume(240, 9000, 1)
		resume(241, 5, 1) // another one, that came before the stop
		resume(30, 31, 0)
		stop(40, 1)
		resume(30, 9000, 1)
	}},
	{"AnOptInFarAheadLiftsNothing", func(f *fixture) {
		const ahead = 3 * 3600
		f.done(f.l.Suppress(f.ctx, []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, Source: "stop", At: at(-10)}}))
		for _, received := range []int{0, 60, ahead, ahead + 60} {
			f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{{Key: 1, At: at(ahead), ReceivedAt: at(received)}}}))
			f.hasSuppressed(1, "after a resume of %d s that came at %d s", ahead, received)
		}
		for own, want := range map[int]int{301: 1, 300: 0} { // more than 5 minutes, and no more
			f.done(f.l.Suppress(f.ctx, []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, Source: "stop", At: at(-10)}}))
			f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{{Key: 1, At: at(own), ReceivedAt: at(0)}}}))
			f.hasSuppressed(want, "after a resume of %d s that came at 0 s", own)
			f.done(f.l.Unsuppress(f.ctx, []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing}}))
		}
	}},
	{"AnOptInDeliveredAgainLiftsNoImport", func(f *fixture) {
		resume := campaign.Events{Lifted: []campaign.Suppression{{Key: 1, At: at(20), ReceivedAt: at(21)}}}
		f.done(f.l.Apply(f.ctx, resume))
		f.done(f.l.Suppress(f.ctx, []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, Source: "import", At: at(5)}}))
		f.done(f.l.Apply(f.ctx, resume))
		f.hasSuppressed(1, "after a resume that was delivered again")
	}},
	{"ALiftOfHoldsCountsFromItsFirstReceipt", func(f *fixture) {
		h := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "DISCONNECTED", Detail: "why", Source: campaign.HoldByEvent}
		lift := func(own, received, want int) {
			f.Helper()
			f.lifts(want, campaign.Lift{Scope: h.Scope, ID: h.ID, By: campaign.HoldByEvent, At: at(own), ReceivedAt: at(received)})
		}
		lift(240, 0, 0)
		lift(7200, 0, 0)
		h.Since = at(10)
		f.done(f.l.AddHolds(f.ctx, []campaign.Hold{h}))
		lift(240, 20, 0)
		lift(240, 9000, 0)
		lift(7200, 7300, 0) // it was more than 5 minutes ahead
		lift(0, 30, 0)
		lift(301, 0, 0)
		lift(35, 30, 1)
	}},
	{"AMessageFromTheFutureOpensNoLongerWindow", func(f *fixture) {
		_, l := f.leased(10, long)
		now := time.Now()
		wrote := func(seq int64, own, received time.Duration) {
			f.Helper()
			f.done(f.l.Apply(f.ctx, campaign.Events{Inbound: []campaign.Inbound{
				{Key: key(seq), Connection: "conn_1", At: now.Add(-own), ReceivedAt: now.Add(-received)}}}))
		}
		for _, received := range []time.Duration{24 * time.Hour, time.Minute} { // the same message again when its own time has passed
			wrote(0, 24*time.Hour-4*time.Minute, received)
		}
		wrote(1, time.Minute, time.Hour) // more than 5 minutes ahead
		wrote(2, time.Hour, time.Hour)
		f.grants(tiered(l, 0, 10, 2), 3, campaign.ByTier) // 0 and 1 take the places
	}},
	{"AnAdoptedMessageIsNoEvidenceFromTheFuture", func(f *fixture) {
		for i, c := range []struct {
			received int
			heard    bool
		}{{5, false}, {50, true}} {
			_, l := f.begun(1, 1)
			f.record(doubtful(l, 0))
			e := event(fmt.Sprint("wamid.ahead", i), key(0), campaign.Sent, at(50))
			e.ReceivedAt = at(c.received)
			f.apply(e)
			f.swept(campaign.Swept{Matched: 0, Adopted: 1})
			if heard, err := f.l.Heard(f.ctx, "conn_1", at(20)); heard != c.heard || err != nil {
				f.Errorf("a status of 50 s that came at %d s: heard since 20 s %v, %v; want %v", c.received, heard, err, c.heard)
			}
		}
	}},
}

// hasSuppressed fails unless the ledger has that many suppressions.
func (f *fixture) hasSuppressed(want int, format string, about ...any) {
	f.Helper()
	if all := f.suppressed(); len(all) != want {
		f.Errorf(format+": %+v; want %d suppressions", append(about, all, want)...)
	}
}
