package ledgertest

import (
	"slices"
	"sync"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// origin is the origin of every intent in the promises about holds.
var origin = campaign.Origin{Key: "k", Company: "c", Account: "acc", Portfolio: "p", Connection: "conn_1",
	Template: "sale", Language: "en_US",
	Run: "spring-1"}

// minutes is the time n minutes from now, to the millisecond. Holds end by the real clock.
func minutes(n int) time.Time {
	return time.Now().Add(time.Duration(n) * time.Minute).UTC().Truncate(time.Millisecond)
}

// failedAccount is a hold of the account that a failed status reports.
func failedAccount(since time.Time) campaign.Hold {
	return campaign.Hold{Scope: campaign.HoldAccount, ID: "acc", Reason: "131042", Detail: "payment",
		Source: campaign.HoldByStatus, Since: since}
}

// well is a lift of the holds of the account.
func well(by campaign.HoldSource, at time.Time) campaign.Lift {
	return campaign.Lift{Scope: campaign.HoldAccount, ID: "acc", By: by, At: at}
}

// holds adds holds, and fails unless want of them began.
func (f *fixture) holds(want int, hs ...campaign.Hold) []campaign.Hold {
	f.Helper()
	began, err := f.l.AddHolds(f.ctx, hs)
	f.ok(err)
	if len(began) != want {
		f.Errorf("%d holds began: %+v; want %d", len(began), began, want)
	}
	return began
}

// lifts lifts holds, and fails unless want of them ended.
func (f *fixture) lifts(want int, ls ...campaign.Lift) []campaign.Hold {
	f.Helper()
	ended, err := f.l.LiftHolds(f.ctx, ls)
	f.ok(err)
	if len(ended) != want {
		f.Errorf("%d holds ended: %+v; want %d", len(ended), ended, want)
	}
	return ended
}

// held commits an intent for no delivery, and fails unless a hold of the reason want denies it, or
// no hold if want is "".
func (f *fixture) held(l campaign.Lease, mark int64, o campaign.Origin, want string) {
	f.Helper()
	in := intent(l, mark, mark)
	in.Origin = o
	if g := f.intend(in); g.Fenced || g.Denied != (want != "") || g.HeldBy.Reason != want || g.To != mark {
		f.Errorf("an intent of %+v is answered %+v; want it held by %q, at %d", o, g, want, mark)
	}
}

// listed fails unless exactly these holds are listed, compared by scope and id.
func (f *fixture) listed(ended bool, want ...campaign.Hold) {
	f.Helper()
	got, err := f.l.Holds(f.ctx, ended)
	f.ok(err)
	if d := cmp.Diff(want, got); d != "" {
		f.Errorf("holds, the ended ones too: %v (-want +got):\n%s", ended, d)
	}
}

var holdPromises = []promise{
	{"EachScopeStopsItsOwn", func(f *fixture) {
		l := f.lease(f.imported(4).No, long)
		template := campaign.TemplateID("acc", "sale", "en_US")
		for _, c := range []struct {
			scope     campaign.HoldScope
			id, other string
		}{
			{campaign.HoldKey, "k", "k2"}, {campaign.HoldCompany, "c", "c2"}, {campaign.HoldAccount, "acc", "acc2"},
			{campaign.HoldTemplate, template, campaign.TemplateID("acc2", "sale", "en_US")},
			{campaign.HoldTemplate, campaign.TemplateID("", "sale", "en_US"), campaign.TemplateID("acc", "sale", "de")},
			{campaign.HoldPortfolio, "p", "p2"}, {campaign.HoldConnection, "conn_1", "conn_2"},
			{campaign.HoldRun, "spring-1", "spring-2"}, {campaign.HoldAccount, campaign.HoldAny, "acc3"},
		} {
			hold := campaign.Hold{Scope: c.scope, ID: c.other, Reason: "operator", Source: campaign.HoldByOperator, Since: minutes(-1)}
			f.holds(1, hold)
			f.held(l, 0, origin, "")
			hold.ID = c.id
			f.holds(1, hold)
			f.held(l, 0, origin, "operator")
			f.lifts(1, campaign.Lift{Scope: c.scope, ID: c.id, By: campaign.HoldByOperator, At: minutes(0)})
			f.held(l, 0, origin, "")
		}
	}},
	{"AHeldIntentWritesNothing", func(f *fixture) {
		r, l := f.begun(4, 1)
		f.record(deferral(l, 0, at(1)))
		f.holds(1, failedAccount(minutes(-1)))
		both := retry(l, 1, 0, 2)
		both.Origin, both.To, both.Keys = origin, 3, append(keys(1, 3), key(0))
		healthy := intent(l, 1, 1)
		gs, err := f.l.Intend(f.ctx, []campaign.Intent{both, healthy})
		f.ok(err)
		if !gs[0].Denied || gs[0].HeldBy.Reason != "131042" || gs[0].To != 1 || gs[1].Denied {
			f.Errorf("got %+v; want the first held by 131042 at 1, the second not held", gs)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Queued: 4})
		if got, want := f.run(r.No).Taken, int64(1); got != want {
			f.Errorf("taken %d, want %d", got, want)
		}
		f.lifts(1, well(campaign.HoldByOperator, minutes(0)))
		if g := f.intend(both); g.Denied || g.To != 3 || len(g.Skipped) > 0 {
			f.Errorf("lifted: %+v; want To 3, not Denied, none skipped", g)
		}
	}},
	{"AHoldWithoutOriginNamesTheConnection", func(f *fixture) {
		l := f.lease(f.imported(1).No, long)
		f.holds(1, campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131048", Source: campaign.HoldByStatus,
			Since: minutes(-1)})
		f.held(l, 0, campaign.Origin{}, "131048")
	}},
	{"AHoldEndsAtItsTime", func(f *fixture) {
		l := f.lease(f.imported(1).No, long)
		h := failedAccount(minutes(-1))
		h.Until = time.Now().Add(2 * time.Second).UTC().Truncate(time.Millisecond)
		f.holds(1, h)
		f.held(l, 0, origin, "131042")
		time.Sleep(time.Until(h.Until) + time.Millisecond) // holds end by the clock of the process
		f.held(l, 0, origin, "")
		f.listed(false)
		h.Count, h.Latest = 1, h.Since
		f.listed(true, h)
		f.holds(0, h) // the same report again: its hold has ended
		again := failedAccount(minutes(0))
		again.Until = minutes(10)
		began := f.holds(1, again)
		if began[0].Count != 2 || !began[0].Since.Equal(h.Since) {
			f.Errorf("back after its end: %+v; want Count 2, Since %s", began[0], h.Since)
		}
	}},
	{"AReportProlongsAndNeverShortens", func(f *fixture) {
		h := failedAccount(minutes(-3))
		h.Until = minutes(10)
		f.holds(1, h)
		later := failedAccount(minutes(-2))
		later.Until = minutes(20)
		f.holds(0, later)
		sooner := failedAccount(minutes(-1))
		sooner.Until = minutes(5)
		f.holds(0, sooner)
		want := h
		want.Until, want.Latest, want.Count = later.Until, sooner.Since, 1
		f.listed(false, want)
	}},
	{"ManyHoldsOfOneCallMerge", func(f *fixture) {
		h := failedAccount(minutes(-3))
		other := h
		other.ID = "acc2"
		f.holds(2, h, other, h, other)
		f.lifts(1, well(campaign.HoldByEvent, minutes(0)), well(campaign.HoldByEvent, minutes(0)))
		other.Latest, other.Count = other.Since, 1
		f.listed(false, other)
	}},
	{"AnOldEventNeitherHoldsNorLifts", func(f *fixture) {
		l := f.lease(f.imported(1).No, long)
		paused := failedAccount(minutes(-10))
		f.holds(1, paused)
		f.lifts(0, well(campaign.HoldByEvent, minutes(-11))) // an older lift
		f.lifts(0, well(campaign.HoldByEvent, time.Time{}))  // a lift without a time
		f.held(l, 0, origin, "131042")
		f.lifts(1, well(campaign.HoldByEvent, minutes(-5)))
		f.holds(0, paused)                     // the same hold again
		f.holds(0, failedAccount(minutes(-6))) // an older report that comes late
		f.lifts(0, well(campaign.HoldByEvent, minutes(-5)))
		f.held(l, 0, origin, "")
		f.holds(1, failedAccount(minutes(-4)))
		f.lifts(0, well(campaign.HoldByEvent, minutes(-5))) // the approval again
		f.held(l, 0, origin, "131042")
	}},
	{"ALiftIsRememberedWithoutAHold", func(f *fixture) {
		f.lifts(0, well(campaign.HoldByEvent, minutes(-5)))
		f.holds(0, failedAccount(minutes(-6)))
		f.lifts(0, well(campaign.HoldByOperator, minutes(-3)))
		f.holds(0, failedAccount(minutes(-4)))
		f.listed(false)
		f.listed(true)
		f.holds(1, failedAccount(minutes(-2)))
		f.lifts(0, campaign.Lift{Scope: campaign.HoldAccount, ID: "acc", Reason: "368", By: campaign.HoldByOperator, At: minutes(0)})
		f.lifts(0, well(campaign.HoldByBreaker, minutes(0)))
		f.holds(1, campaign.Hold{Scope: campaign.HoldAccount, ID: "acc", Reason: "368", Source: campaign.HoldByStatus, Since: minutes(-1)})
	}},
	{"OnlyTheOperatorEndsAManualHold", func(f *fixture) {
		h := failedAccount(minutes(-5))
		h.Manual = true
		f.lifts(0, well(campaign.HoldByEvent, minutes(-4)))
		f.holds(1, h) // no event lifts it, in either order
		f.lifts(0, well(campaign.HoldByEvent, minutes(-3)))
		ended := f.lifts(1, well(campaign.HoldByOperator, minutes(-2)))
		if got := ended[0]; got.LiftedBy != campaign.HoldByOperator || got.Lifted.IsZero() || !got.Manual {
			f.Errorf("ended %+v; want Manual, lifted by the operator", got)
		}
		f.holds(0, h)
	}},
	{"ABreakerRestsTwiceAsLongEachTime", func(f *fixture) {
		trip := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "breaker", Source: campaign.HoldByBreaker, Since: minutes(0)}
		began := f.holds(1, trip)
		if got := time.Until(began[0].Until); got <= 4*time.Second || got > 5*time.Second || began[0].Count != 1 {
			f.Errorf("the first rest is %s, counted %d; want 5s, 1", got, began[0].Count)
		}
		f.holds(0, trip) // another replica reports the same trip
		f.listed(false, began[0])
		f.lifts(1, campaign.Lift{Scope: campaign.HoldConnection, ID: "conn_1", By: campaign.HoldByBreaker, At: minutes(0)})
		if began = f.holds(1, trip); began[0].Count != 1 {
			f.Errorf("proven healthy in between: counted %d; want 1", began[0].Count)
		}
	}},
	{"AWrongHoldIsRefused", func(f *fixture) {
		good := failedAccount(minutes(-1))
		for _, change := range []func(*campaign.Hold){
			func(h *campaign.Hold) { h.Scope = "moon" }, func(h *campaign.Hold) { h.ID = "" },
			func(h *campaign.Hold) { h.Reason = "" }, func(h *campaign.Hold) { h.Source = "" },
		} {
			bad := good
			change(&bad)
			if began, err := f.l.AddHolds(f.ctx, []campaign.Hold{good, bad}); err == nil || began != nil {
				f.Errorf("%+v: began %+v, %v; want an error", bad, began, err)
			}
		}
		for _, bad := range []campaign.Lift{{Scope: "moon", ID: "acc", By: campaign.HoldByEvent},
			{Scope: campaign.HoldAccount, By: campaign.HoldByEvent},
			{Scope: campaign.HoldAccount, ID: "acc"}} {
			if ended, err := f.l.LiftHolds(f.ctx, []campaign.Lift{bad}); err == nil || ended != nil {
				f.Errorf("%+v: ended %+v, %v; want an error", bad, ended, err)
			}
		}
		f.listed(true)
		f.holds(0)
		f.lifts(0)
	}},
	{"AHoldReportedAtOnceBeginsOnce", func(f *fixture) {
		const reporters = 8
		var began [reporters][]campaign.Hold
		var all sync.WaitGroup
		since := minutes(-1)
		for i := range reporters {
			all.Go(func() {
				var err error
				if began[i], err = f.l.AddHolds(f.ctx, []campaign.Hold{failedAccount(since)}); err != nil {
					f.Errorf("reporter %d: %v; want no error", i, err)
				}
			})
		}
		all.Wait()
		if got := slices.Concat(began[:]...); len(got) != 1 {
			f.Errorf("it began %d times: %+v; want once", len(got), got)
		}
		want := failedAccount(since)
		want.Latest, want.Count = want.Since, 1
		f.listed(false, want)
	}},
}
