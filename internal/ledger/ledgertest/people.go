package ledgertest

import (
	"maps"
	"slices"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// tiered is an intent over a connection of a portfolio with a tier.
func tiered(l campaign.Lease, from, to, places int64) campaign.Intent {
	in := intent(l, from, to)
	in.Tier = campaign.Tier{Portfolio: "main", Places: places}
	return in
}

// over changes an intent to be over another connection.
func over(connection string, in campaign.Intent) campaign.Intent {
	in.Connection = connection
	return in
}

// capped is an intent of a run with a frequency cap.
func capped(l campaign.Lease, from, to int64, action string) campaign.Intent {
	in := intent(l, from, to)
	in.Cap = &campaign.FrequencyLimit{Messages: 1, Per: campaign.Duration(24 * time.Hour), Action: action}
	return in
}

// paired is an intent that asks for PairSpace between two messages to one recipient.
func paired(l campaign.Lease, from, to int64) campaign.Intent {
	in := intent(l, from, to)
	in.Pair = true
	return in
}

// again is an intent of one retry alone.
func again(l campaign.Lease, mark, seq int64, attempt int, in campaign.Intent) campaign.Intent {
	in.Lease, in.From, in.To, in.Keys = l, mark, mark, []int64{key(seq)}
	in.Retries = []campaign.Retry{{Delivery: campaign.Delivery{Run: l.Run, Seq: seq, Key: key(seq)}, Attempt: attempt}}
	return in
}

// grants commits an intent and checks how far it came and what limited it.
func (f *fixture) grants(in campaign.Intent, to int64, by campaign.LimitedBy) campaign.Granted {
	f.Helper()
	g := f.intend(in)
	if g.To != to || g.Limit.By != by || g.Denied != (by != "" && to == in.From) {
		f.Fatalf("%d to %d: granted to %d, held %v, limited by %q; want to %d, by %q", in.From, in.To, g.To, g.Denied, g.Limit.By, to, by)
	}
	return g
}

var peoplePromises = []promise{
	{"ATierEndsTheGrantAtItsLastPlace", func(f *fixture) {
		r, l := f.leased(10, long)
		g := f.grants(tiered(l, 0, 10, 4), 4, campaign.ByTier)
		if d := time.Until(g.Limit.Until); d < 23*time.Hour || d > 25*time.Hour || g.Limit.Detail == "" {
			f.Errorf("limited until %s in %s, %q; want about 24 hours and a sentence", g.Limit.Until, d, g.Limit.Detail)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Sending: 4, campaign.Queued: 6})
		f.grants(tiered(l, 4, 10, 4), 4, campaign.ByTier)
		f.grants(tiered(l, 4, 10, 6), 6, campaign.ByTier) // raised
		f.grants(tiered(l, 6, 10, 2), 6, campaign.ByTier) // lowered: what is sent is sent
		f.grants(intent(l, 6, 8), 8, "")
		f.sound(r.No)
	}},
	{"ATierIsSharedByTheConnectionsOfAPortfolio", func(f *fixture) {
		a, b := f.imported(6), f.imported(10)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(tiered(la, 0, 3, 5), 3, "")
		f.grants(over("conn_2", tiered(lb, 0, 10, 5)), 5, campaign.ByTier) // 0 to 2 are reached already
		other := tiered(la, 3, 6, 5)
		other.Tier.Portfolio = "other"
		f.grants(other, 6, "")
	}},
	{"ARepetitionTakesNoPlace", func(f *fixture) {
		a, b := f.imported(4), f.imported(6)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(tiered(la, 0, 4, 4), 4, "")
		f.grants(tiered(lb, 0, 6, 4), 4, campaign.ByTier)
		gs, err := f.l.Intend(f.ctx, []campaign.Intent{tiered(lb, 4, 6, 5)})
		f.ok(err)
		if gs[0].To != 5 {
			f.Errorf("granted to %d, want 5: one place more", gs[0].To)
		}
	}},
	{"OneTransactionCountsAPersonOnce", func(f *fixture) {
		a, b := f.imported(4), f.imported(4)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		gs, err := f.l.Intend(f.ctx, []campaign.Intent{tiered(la, 0, 3, 3), over("conn_2", tiered(lb, 0, 4, 3))})
		f.ok(err)
		if gs[0].To != 3 || gs[1].To != 3 || gs[1].Limit.By != campaign.ByTier {
			f.Errorf("granted to %d and %d, limited by %q; want 3, 3 and the tier", gs[0].To, gs[1].To, gs[1].Limit.By)
		}
		f.record(refusal(la, 1)) // the other run has the place too
		f.grants(tiered(la, 3, 4, 3), 3, campaign.ByTier)
		f.record(refusal(lb, 1))
		f.grants(tiered(la, 3, 4, 3), 4, "")
	}},
	{"APlaceIsFreeWhenNobodyHoldsIt", func(f *fixture) {
		a, b, c := f.imported(4), f.imported(4), f.imported(4)
		la, lb, lc := f.lease(a.No, long), f.lease(b.No, long), f.lease(c.No, long)
		f.grants(tiered(la, 0, 3, 3), 3, "")
		f.grants(over("conn_2", tiered(lb, 0, 3, 3)), 3, "")
		f.grants(tiered(lc, 0, 2, 3), 2, "")
		f.record(refusal(la, 0), refusal(lb, 0), refusal(la, 1), refusal(lc, 1))
		f.grants(tiered(la, 3, 4, 3), 3, campaign.ByTier) // c still has the place of seq 0, and b that of seq 1
		f.record(acceptance(lb, 1), refusal(lc, 0), refusal(lc, 0))
		f.grants(tiered(la, 3, 4, 3), 4, "")
		f.grants(over("conn_2", tiered(lb, 3, 4, 3)), 4, "")
		f.record(refusal(la, 2), refusal(lb, 2)) // both runs return it in one call
		f.record(refusal(la, 3), acceptance(lb, 3))
		d := f.imported(6)
		f.grants(tiered(f.lease(d.No, long), 0, 6, 3), 2, campaign.ByTier) // seq 0 takes the free place, seq 1 has one
	}},
	{"ARefusalReturnsAPlaceAndADoubtDoesNot", func(f *fixture) {
		_, l := f.leased(10, long)
		f.grants(tiered(l, 0, 4, 4), 4, "")
		f.record(acceptance(l, 0), doubtful(l, 1))
		f.grants(tiered(l, 4, 10, 4), 4, campaign.ByTier)
		f.record(refusal(l, 2), deferral(l, 3, at(0)))
		f.record(refusal(l, 2), deferral(l, 3, at(0))) // the same results again return no second place
		f.grants(tiered(l, 4, 10, 4), 6, campaign.ByTier)
		f.grants(again(l, 6, 3, 2, tiered(l, 0, 0, 4)), 6, campaign.ByTier)
		f.grants(again(l, 6, 3, 2, tiered(l, 0, 0, 5)), 6, "")
		f.grants(tiered(l, 6, 10, 5), 6, campaign.ByTier)
		f.record(refusal(l, 1)) // a late answer ends the doubt
		f.grants(tiered(l, 6, 10, 5), 7, campaign.ByTier)
	}},
	{"ARetryBeyondTheTierIsNotPosted", func(f *fixture) {
		r, l := f.leased(10, long)
		f.grants(tiered(l, 0, 2, 2), 2, "")
		f.record(deferral(l, 0, at(0)))
		in := tiered(l, 2, 10, 2)
		in.Keys = nil
		in.Retries = []campaign.Retry{{Delivery: campaign.Delivery{Run: r.No, Seq: 0, Key: key(0)}, Attempt: 2}}
		g := f.grants(in, 3, campaign.ByTier) // the fresh delivery took the last place
		if d := cmp.Diff(map[int64]campaign.SkipReason{0: ""}, g.Skipped); d != "" {
			f.Errorf("not granted (-want +got):\n%s", d)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Sending: 2, campaign.Queued: 8})
	}},
	{"WhatWasNotPostedReturnsItsPlace", func(f *fixture) {
		r, l := f.leased(10, long)
		f.grants(tiered(l, 0, 4, 4), 4, "")
		f.ok(f.l.Release(f.ctx, l, []int64{1, 2}))
		l = f.lease(r.No, long)
		f.grants(tiered(l, 4, 10, 4), 6, campaign.ByTier)
	}},
	{"AStatementOfAWireLogReturnsPlaces", func(f *fixture) {
		r := f.imported(10)
		l := f.leaseOf("a", r.No, long)
		f.grants(tiered(l, 0, 4, 4), 4, "")
		f.unposted("a", 3, campaign.Post{Run: r.No, Seq: 1, Attempt: 1})
		l = f.leaseOf("b", r.No, long)
		f.grants(tiered(l, 4, 10, 4), 7, campaign.ByTier)
	}},
	{"AResentDoubtKeepsItsPlace", func(f *fixture) {
		_, l := f.leased(4, long)
		f.grants(tiered(l, 0, 1, 1), 1, "")
		f.record(doubtful(l, 0))
		f.resolved(l, at(1000), campaign.UncertainResend, 1)
		f.grants(again(l, 1, 0, 2, tiered(l, 0, 0, 1)), 1, "")
		second := refusal(l, 0)
		second.Attempt = 2
		f.record(second)
		f.grants(tiered(l, 1, 4, 1), 1, campaign.ByTier)
	}},
	{"AnOpenServiceWindowTakesNoPlace", func(f *fixture) {
		_, l := f.leased(10, long)
		wrote := func(seq int64, connection string, ago time.Duration) campaign.Inbound {
			return campaign.Inbound{Key: key(seq), Connection: connection, At: time.Now().Add(-ago)}
		}
		_, err := f.l.Apply(f.ctx, campaign.Events{Inbound: []campaign.Inbound{wrote(0, "conn_1", time.Hour), wrote(1, "conn_1", 25*time.Hour),
			wrote(0, "conn_1", 26*time.Hour), wrote(2, "conn_2", time.Hour), wrote(3, "conn_1", 23*time.Hour)}})
		f.ok(err)
		f.sweptAt(time.Now(), campaign.Swept{})           // the sweep deletes the service windows that have ended
		f.grants(tiered(l, 0, 10, 2), 4, campaign.ByTier) // 1 and 2 take the places
	}},
	{"AFirstTierCountsTheLast24Hours", func(f *fixture) {
		_, l := f.leased(10, long)
		f.sent(l, 0, 6) // without a tier
		done := func(seq int64, ago time.Duration, of campaign.Result) campaign.Result {
			of.Seq, of.At = seq, time.Now().Add(-ago)
			return of
		}
		f.record(done(0, time.Hour, acceptance(l, 0)), done(1, 25*time.Hour, acceptance(l, 1)), done(2, time.Hour, refusal(l, 2)),
			done(3, time.Hour, doubtful(l, 3)), done(4, time.Hour, deferral(l, 4, time.Now().Add(long))), done(5, 23*time.Hour, acceptance(l, 5)))
		f.grants(tiered(l, 6, 10, 5), 8, campaign.ByTier) // 0, 3 and 5 are reached
	}},
	{"TheBudgetAndTheTierEndTheSameGrant", func(f *fixture) {
		r := f.imported(10, func(r *campaign.Run) { r.Budget = 3 })
		l := f.lease(r.No, long)
		if g := f.intend(tiered(l, 0, 10, 5)); g.To != 3 || !g.OverBudget || g.Limit.By != "" {
			f.Errorf("%+v; want To 3, OverBudget and no limit", g)
		}
	}},
	{"ACapSkipsWhoGotAMessage", func(f *fixture) {
		a, b := f.imported(4), f.imported(6)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(capped(la, 0, 4, ""), 4, "")
		f.record(refusal(la, 1), doubtful(la, 2))
		g := f.grants(capped(lb, 0, 5, ""), 5, "")
		want := map[int64]campaign.SkipReason{0: campaign.FrequencyCap, 2: campaign.FrequencyCap, 3: campaign.FrequencyCap}
		if d := cmp.Diff(want, g.Skipped); d != "" {
			f.Errorf("skipped (-want +got):\n%s", d)
		}
		if line := f.status(b.No, 0, campaign.Skipped); line.Skip != campaign.FrequencyCap {
			f.Errorf("skipped for %q, want frequency_cap", line.Skip)
		}
		f.grants(intent(lb, 5, 6), 6, "")
		f.sound(b.No)
	}},
	{"ACheckKnowsWhomACapStops", func(f *fixture) {
		r, other := f.imported(4), f.imported(6)
		l, uncapped := f.lease(r.No, long), f.lease(other.No, long)
		f.grants(paired(uncapped, 0, 6), 6, "")
		f.grants(capped(l, 0, 4, ""), 4, "")
		f.record(refusal(l, 1))
		for _, c := range []struct {
			messages int
			later    time.Duration
			want     []int64
		}{{1, 0, []int64{key(0), key(2), key(3)}}, {2, 0, nil}, {1, 25 * time.Hour, nil}} {
			limit := campaign.FrequencyLimit{Messages: c.messages, Per: campaign.Duration(24 * time.Hour)}
			got, err := f.l.CappedKeys(f.ctx, keys(0, 600), limit, time.Now().Add(c.later))
			f.ok(err)
			slices.Sort(c.want)
			if got := slices.Sorted(maps.Keys(got)); !slices.Equal(got, c.want) {
				f.Errorf("%d messages, %s later: got %v, want %v", c.messages, c.later, got, c.want)
			}
		}
	}},
	{"ACapCountsADeliveryOnce", func(f *fixture) {
		_, l := f.leased(2, long)
		f.grants(capped(l, 0, 1, ""), 1, "")
		f.record(doubtful(l, 0))
		f.resolved(l, at(1000), campaign.UncertainResend, 1)
		if g := f.grants(again(l, 1, 0, 2, capped(l, 0, 0, "")), 1, ""); len(g.Skipped) > 0 {
			f.Errorf("skipped %v, want none: the doubt is of the same delivery", g.Skipped)
		}
	}},
	{"ACapDefersIfItShould", func(f *fixture) {
		a, b := f.imported(2), f.imported(3)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(capped(la, 0, 2, ""), 2, "")
		g := f.grants(capped(lb, 0, 3, campaign.CapDefer), 3, "")
		f.deferred(g, 24*time.Hour, 0, 1)
		if line := f.status(b.No, 0, campaign.Queued); line.Attempts != 0 || line.Reason != "frequency_cap" {
			f.Errorf("%d attempts, reason %q; want 0 and frequency_cap", line.Attempts, line.Reason)
		}
		tallies, _, err := f.l.Tallies(f.ctx, b.No)
		f.ok(err)
		if want := (campaign.Tally{Status: campaign.Queued, Reason: string(campaign.ByFrequencyCap), N: 2}); !slices.Contains(tallies, want) {
			f.Errorf("got the tallies %v, want %v among them", tallies, want)
		}
		f.sound(b.No)
	}},
	{"APairOfMessagesIsKeptApart", func(f *fixture) {
		a, b := f.imported(3), f.imported(8)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(paired(la, 0, 3), 3, "")
		f.record(refusal(la, 1))
		g := f.grants(paired(lb, 0, 4), 4, "")
		f.deferred(g, 7*time.Second, 0, 2)
		if got := f.run(b.No); got.Taken != 2 {
			f.Errorf("taken %d, want 2: a deferred delivery costs nothing", got.Taken)
		}
		g = f.intend(again(lb, 4, 0, 1, paired(lb, 0, 0)))
		f.deferred(g, 7*time.Second, 0)
		f.counted(b.No, map[campaign.Status]int64{campaign.Queued: 6, campaign.Sending: 2})
		f.sound(b.No)
	}},
	{"OtherConnectionsAreNoPair", func(f *fixture) {
		a, b := f.imported(3), f.imported(3)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(paired(la, 0, 3), 3, "")
		if g := f.grants(over("conn_2", paired(lb, 0, 3)), 3, ""); len(g.Deferred) > 0 {
			f.Errorf("deferred %v, want none", g.Deferred)
		}
	}},
	{"ADeferredRecipientIsSentInTheEnd", func(f *fixture) {
		a, b := f.imported(1), f.imported(1)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(paired(la, 0, 1), 1, "")
		f.grants(paired(lb, 0, 1), 1, "")
		f.record(refusal(la, 0)) // nothing was sent: the pair is free
		f.grants(again(lb, 1, 0, 1, paired(lb, 0, 0)), 1, "")
		f.record(acceptance(lb, 0))
		f.status(b.No, 0, campaign.Accepted)
		f.sound(b.No)
	}},
}

// deferred checks which deliveries an answer defers, and that each waits for about this time.
func (f *fixture) deferred(g campaign.Granted, about time.Duration, seqs ...int64) {
	f.Helper()
	got := slices.Sorted(maps.Keys(g.Deferred))
	if !slices.Equal(got, seqs) || len(g.Skipped) > 0 {
		f.Fatalf("deferred %v, skipped %v; want %v and none", got, g.Skipped, seqs)
	}
	for seq, due := range g.Deferred {
		if d := time.Until(due); d > about || d < about-5*time.Minute {
			f.Errorf("seq %d waits for %s, want about %s", seq, d, about)
		}
	}
}
