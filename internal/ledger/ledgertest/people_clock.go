package ledgertest

import (
	"math/rand/v2"
	"slices"
	"time"

	"campaignd/campaign"
)

// placeTime is how long a place of a tier is taken (docs/limits.md#tier).
const placeTime = 24*time.Hour + time.Minute

var peopleClockPromises = []clockPromise{
	{"APlaceIsTakenForADayAndAMinute", func(f *clockFixture) {
		_, l := f.leased(10, long)
		f.grants(tiered(l, 0, 2, 3), 2, "")
		f.Pass(time.Hour)
		f.grants(tiered(l, 2, 10, 3), 3, campaign.ByTier)
		f.Pass(placeTime - time.Hour - instant)
		g := f.grants(tiered(l, 3, 10, 3), 3, campaign.ByTier)
		f.freesIn(g, instant)
		f.Pass(instant)
		g = f.grants(tiered(l, 3, 10, 3), 5, campaign.ByTier)
		f.freesIn(g, time.Hour)
		f.Pass(time.Hour)
		g = f.grants(tiered(l, 5, 10, 2), 5, campaign.ByTier) // the tier was lowered to 2, and two places are taken
		f.freesIn(g, placeTime-time.Hour)
	}},
	{"ARepetitionTakesAPlaceForAnotherDay", func(f *clockFixture) {
		a, b := f.imported(1), f.imported(4)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(tiered(la, 0, 1, 1), 1, "")
		f.Pass(20 * time.Hour)
		f.grants(tiered(lb, 0, 4, 1), 1, campaign.ByTier)
		f.Pass(placeTime - instant)
		f.grants(tiered(lb, 1, 4, 1), 1, campaign.ByTier)
		f.Pass(instant)
		f.grants(tiered(lb, 1, 4, 1), 2, campaign.ByTier)
	}},
	{"ARefusedRepetitionHoldsNoPlace", func(f *clockFixture) {
		a, b := f.imported(1), f.imported(4)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.grants(tiered(la, 0, 1, 1), 1, "")
		f.record(acceptance(la, 0))
		f.Pass(20 * time.Hour)
		f.grants(tiered(lb, 0, 1, 1), 1, "")
		f.record(refusal(lb, 0))
		g := f.grants(tiered(lb, 1, 4, 1), 1, campaign.ByTier)
		f.freesIn(g, placeTime-20*time.Hour)
		f.Pass(placeTime - 20*time.Hour)
		f.grants(tiered(lb, 1, 4, 1), 2, campaign.ByTier)
	}},
	{"ReachedCountsThePlacesByTheHour", func(f *clockFixture) {
		a, b := f.imported(6), f.imported(6)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		start := f.Now()
		f.grants(tiered(la, 0, 4, 9), 4, "")
		f.Pass(2 * time.Hour)
		other := tiered(lb, 2, 3, 9)
		other.Tier.Portfolio = "other"
		f.grants(tiered(lb, 0, 2, 9), 2, "") // they move to this hour
		f.grants(other, 3, "")
		f.grants(tiered(la, 4, 5, 9), 5, "")
		var counts []int64
		hours, err := f.l.Reached(f.ctx, "main", start.Add(-time.Minute))
		f.ok(err)
		for i, h := range hours {
			counts = append(counts, h.N)
			at := start.Add(time.Duration(i) * 2 * time.Hour)
			if h.To.Before(h.From) || h.From.Sub(at).Abs() > 10*time.Second || h.To.Sub(at).Abs() > 10*time.Second {
				f.Errorf("reached from %v to %v, want about %v", h.From, h.To, at)
			}
		}
		if !slices.Equal(counts, []int64{2, 3}) {
			f.Errorf("reached by the hour: %v, want [2 3]", counts)
		}
		f.Pass(time.Hour)
		if last, err := f.l.Reached(f.ctx, "main", start.Add(time.Hour)); err != nil || len(last) != 1 || last[0].N != 3 {
			f.Errorf("reached in the last hours: %v, %v; want 3 in one", last, err)
		}
	}},
	{"ACapLooksBackForItsTime", func(f *clockFixture) {
		a, b, c := f.imported(1), f.imported(1), f.imported(1)
		la, lb, lc := f.lease(a.No, long), f.lease(b.No, long), f.lease(c.No, long)
		f.grants(capped(la, 0, 1, ""), 1, "")
		f.Pass(24*time.Hour - instant)
		if g := f.grants(capped(lb, 0, 1, ""), 1, ""); g.Skipped[0] != campaign.FrequencyCap {
			f.Errorf("skipped %v within 24 hours, want frequency_cap", g.Skipped)
		}
		f.Pass(instant)
		if g := f.grants(capped(lc, 0, 1, ""), 1, ""); len(g.Skipped) > 0 {
			f.Errorf("skipped %v after 24 hours, want nobody", g.Skipped)
		}
	}},
	{"APairIsSevenSecondsApart", func(f *clockFixture) {
		a, b, c := f.imported(1), f.imported(1), f.imported(1)
		la, lb, lc := f.lease(a.No, long), f.lease(b.No, long), f.lease(c.No, long)
		f.grants(paired(la, 0, 1), 1, "")
		f.Pass(7*time.Second - instant)
		if g := f.grants(paired(lb, 0, 1), 1, ""); len(g.Deferred) != 1 {
			f.Errorf("deferred %v within 7 s, want one", g.Deferred)
		}
		f.Pass(instant)
		if g := f.grants(paired(lc, 0, 1), 1, ""); len(g.Deferred) > 0 {
			f.Errorf("deferred %v after 7 s, want nobody", g.Deferred)
		}
	}},
	{"NoDayReachesMoreThanTheTier", testTierOfDays},
}

// freesIn checks when an answer says that a place frees, to the second of two clocks.
func (f *clockFixture) freesIn(g campaign.Granted, want time.Duration) {
	f.Helper()
	if got := time.Until(g.Limit.Until); got < want-10*time.Second || got > want+10*time.Second {
		f.Errorf("the next place frees in %s, want %s", got, want)
	}
}

// tierLane is a run over one connection in testTierOfDays.
type tierLane struct {
	lease      campaign.Lease
	connection string
	mark       int64
}

// testTierOfDays sends three runs over the same 1,000 recipients by two connections of one
// portfolio with a tier of 250, for five days. Refusals, doubts and the death of an owner come in
// between. Every two hours it compares the recipients of the last 24 hours with the tier.
func testTierOfDays(f *clockFixture) {
	const people, tier = 1000, 250
	rnd := rand.New(rand.NewPCG(7, 1)) //nolint:gosec // repeatable
	var lanes []*tierLane
	for _, c := range []string{"conn_1", "conn_2", "conn_1"} {
		lanes = append(lanes, &tierLane{lease: f.lease(f.imported(people).No, time.Second), connection: c})
	}
	last := map[int64]time.Time{} // when each recipient was, or may have been, reached last
	sent := 0
	taken := func(within time.Duration) (n int) {
		for _, at := range last {
			if f.Now().Sub(at) < within {
				n++
			}
		}
		return n
	}
	for step := range 5 * 12 {
		waiting := 0
		if step == 15 { // the owner of the first lane dies after an intent
			l := lanes[0]
			l.lease = f.leaseAfter(l.lease)
		}
		for more := true; more; {
			more = false
			for _, l := range lanes {
				in := tiered(l.lease, l.mark, min(l.mark+40, people), tier)
				in.Connection = l.connection
				if in.From == in.To {
					continue
				}
				g := f.intend(in)
				var results []campaign.Result
				for seq := in.From; seq < g.To; seq++ {
					r := acceptance(l.lease, seq)
					r.Connection, r.At, r.IntentAt = l.connection, f.Now(), f.Now()
					switch rnd.IntN(20) {
					case 0:
						r.Kind, r.MessageID, r.Code = campaign.ResultRefused, "", "131026"
					case 1:
						r.Kind, r.MessageID, r.Code = campaign.ResultDoubt, "", "time_out"
					}
					if r.Kind != campaign.ResultRefused {
						last[key(seq)] = f.Now()
					}
					if step == 14 && l == lanes[0] && seq == g.To-1 {
						continue // it is in flight when its owner dies
					}
					results = append(results, r)
					sent++
				}
				f.record(results...)
				l.mark = g.To
				more = more || g.To > in.From
			}
			if n := taken(24 * time.Hour); n > tier {
				f.Fatalf("step %d: %d people reached in 24 hours, want at most %d", step, n, tier)
			}
		}
		for _, l := range lanes {
			waiting += int(people - l.mark)
		}
		if n := taken(placeTime); waiting > 0 && n < tier*98/100 {
			f.Fatalf("step %d: %d rows wait and %d of %d places are taken, want 98 %%", step, waiting, n, tier)
		}
		f.Pass(2 * time.Hour)
	}
	if sent < 3*people-1 {
		f.Errorf("%d of %d deliveries were sent in five days, want all", sent, 3*people)
	}
}

// leaseAfter claims the segment that a dead owner had, and recovers it.
func (f *clockFixture) leaseAfter(l campaign.Lease) campaign.Lease {
	f.Helper()
	ls := f.claim(l.Run, time.Second, 1)
	if len(ls) != 1 {
		f.Fatalf("claimed %d segments of a dead owner, want 1", len(ls))
	}
	f.done(f.l.Recover(f.ctx, ls[0], f.Now()))
	return ls[0]
}
