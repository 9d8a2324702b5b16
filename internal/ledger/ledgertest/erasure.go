package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

// erases erases the phone number of seq, and fails unless the erasure reports want.
func (f *fixture) erases(seq int64, want campaign.Erased) {
	f.Helper()
	got, err := f.l.Erase(f.ctx, key(seq))
	f.ok(err)
	if got != want {
		f.Errorf("erased of seq %d: %+v; want %+v", seq, got, want)
	}
}

// anonymous fails unless a delivery shows nothing of its recipient.
func (f *fixture) anonymous(no campaign.RunNo, seq int64) {
	f.Helper()
	l := f.lines(no)[seq]
	digits := fmt.Sprint(key(seq))
	if l.Key >= 0 || l.To != campaign.ErasedNumber || len(l.Cells) > 0 || strings.Contains(fmt.Sprintf("%+v", l), digits) {
		f.Errorf("run %d seq %d still tells its recipient: %+v; want %q and no cells", no, seq, l, campaign.ErasedNumber)
	}
}

var erasurePromises = []promise{
	{"AnErasedNumberIsGoneAndTotalsStay", func(f *fixture) {
		r, other := f.over(20), f.over(20)
		tallies, funnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		_, err = f.l.Suppress(f.ctx, []campaign.Suppression{
			{Key: key(5), To: fmt.Sprintf("+%d", key(5)), Scope: campaign.ScopeMarketing, Source: "stop", At: at(1)}})
		f.ok(err)
		for seq := int64(0); seq < 10; seq++ { // an outcome of each kind
			f.erases(seq, campaign.Erased{Rows: 2})
			f.anonymous(r.No, seq)
			f.anonymous(other.No, seq)
		}
		f.erases(5, campaign.Erased{})
		now, nowFunnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		if d := cmp.Diff(tallies, now) + cmp.Diff(funnel, nowFunnel); d != "" {
			f.Errorf("totals (-before +after):\n%s", d)
		}
		if l := f.lines(r.No)[10]; l.Key != key(10) || len(l.Cells) != 2 {
			f.Errorf("another recipient: %+v; want as before", l)
		}
		if all := f.suppressed(); len(all) != 0 {
			f.Errorf("the list shows %+v; want nothing", all)
		}
		f.sound(r.No)
	}},
	{"ALaterListWithAnErasedNumberSkipsIt", func(f *fixture) {
		f.erases(1, campaign.Erased{})
		found, err := f.l.SuppressedKeys(f.ctx, []int64{key(0), key(1)}, false, []string{"c"}, time.Now())
		f.ok(err)
		if want := map[int64]campaign.SkipReason{key(1): campaign.Suppressed}; !cmp.Equal(found, want) {
			f.Errorf("suppressed of two: %v; want %v", found, want)
		}
		r := f.imported(3)
		f.anonymous(r.No, 1)
		l := f.lease(r.No, long)
		g := f.intend(intent(l, 0, 3))
		if want := map[int64]campaign.SkipReason{1: campaign.Suppressed}; g.To != 3 || !cmp.Equal(g.Skipped, want) {
			f.Errorf("an intent for the list: %+v; want To 3, skipped %v", g, want)
		}
		if l := f.status(r.No, 1, campaign.Skipped); l.Reason != string(campaign.Suppressed) {
			f.Errorf("skipped for %q; want %q", l.Reason, campaign.Suppressed)
		}
		f.record(acceptance(l, 0), acceptance(l, 2))
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 2, campaign.Skipped: 1})
		f.sound(r.No)
	}},
	{"ANumberErasedAfterTheImportIsNotSent", func(f *fixture) {
		r, l := f.begun(4, 1)
		f.erases(2, campaign.Erased{Rows: 1})
		g := f.intend(intent(l, 1, 4)) // the keys of the sender are older
		if want := map[int64]campaign.SkipReason{2: campaign.Suppressed}; g.To != 4 || !cmp.Equal(g.Skipped, want) {
			f.Errorf("an intent after the erasure: %+v; want To 4, skipped %v", g, want)
		}
		f.anonymous(r.No, 2)
		f.sound(r.No)
	}},
	{"WhatIsUnderWayIsErasedWhenItHasEnded", func(f *fixture) {
		r, l := f.begun(3, 2)
		f.record(doubtful(l, 1))
		f.erases(0, campaign.Erased{UnderWay: 1})
		f.erases(1, campaign.Erased{UnderWay: 1})
		f.record(acceptance(l, 0))
		f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(50)}, campaign.UncertainHold))
		for seq := range int64(2) {
			if all, err := f.l.SuppressionsOf(f.ctx, key(seq)); err != nil || len(all) != 2 {
				f.Errorf("suppressions under way: %+v, %v; want the number's and its hash's", all, err)
			}
			f.erases(seq, campaign.Erased{Rows: 1})
			f.anonymous(r.No, seq)
			if all, err := f.l.SuppressionsOf(f.ctx, key(seq)); err != nil || len(all) != 1 || all[0].Source != campaign.SourceErasure {
				f.Errorf("suppressions afterwards: %+v, %v; want the hash's", all, err)
			}
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 1, campaign.Unknown: 1, campaign.Queued: 1})
		f.record(acceptance(l, 1)) // an answer that came late
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 2, campaign.Queued: 1})
		f.anonymous(r.No, 1)
		if l := f.lines(r.No)[1]; l.MessageID != "erased" {
			f.Errorf("the message of an erased row, accepted late: %q; want it erased", l.MessageID)
		}
		f.sound(r.No)
	}},
	{"EventsOfAnErasedNumberStoreNothing", func(f *fixture) {
		f.erases(1, campaign.Erased{})
		stop := campaign.Suppression{Key: key(1), To: fmt.Sprintf("+%d", key(1)), Scope: campaign.ScopeMarketing, Source: "stop", At: at(1)}
		_, err := f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{stop},
			Moved: []campaign.Move{{From: key(1), FromPhone: stop.To, To: key(2), ToPhone: "+2", At: at(2)}}})
		f.ok(err)
		f.done(f.l.Suppress(f.ctx, []campaign.Suppression{stop}))
		if all := f.suppressed(); len(all) != 0 {
			f.Errorf("the list shows %+v; want nothing", all)
		}
	}},
	{"StatusesOfAnErasedRowStillCount", func(f *fixture) {
		r, _ := f.accepted(2)
		f.erases(0, campaign.Erased{Rows: 1})
		read := event(messageID(r.No, 0), key(0), campaign.Read, at(30))
		for _, want := range []campaign.Applied{{Matched: 1}, {Repeated: 1}} {
			if got := f.apply(read); got != want {
				f.Errorf("a status of the erased row: %+v; want %+v", got, want)
			}
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Read: 1, campaign.Accepted: 1})
		f.anonymous(r.No, 0)
		f.sound(r.No)
	}},
	{"AResumeOfAnErasedNumberStoresNothing", func(f *fixture) {
		f.erases(1, campaign.Erased{})
		stop := campaign.Suppression{Key: key(1), To: fmt.Sprintf("+%d", key(1)), Scope: campaign.ScopeMarketing, Source: "stop", At: at(9)}
		f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{stop}}))
		f.done(f.l.Unsuppress(f.ctx, []campaign.Suppression{{Key: key(1), Scope: campaign.ScopeAll}}))
		stop.At = at(5) // older than the resume, which would win if it were stored
		f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{stop}}))
		if all := f.suppressed(); len(all) != 1 {
			f.Errorf("the list shows %+v; want the stop alone", all)
		}
	}},
	{"AnOperatorMayEndAnErasure", func(f *fixture) {
		f.erases(1, campaign.Erased{})
		n, err := f.l.Unsuppress(f.ctx, []campaign.Suppression{{Key: key(1), Scope: campaign.ScopeAll}})
		f.ok(err)
		r := f.imported(2)
		if l := f.lines(r.No)[1]; n != 1 || l.Key != key(1) || l.Status != campaign.Queued {
			f.Errorf("%d removed, then the row is %+v; want 1, queued", n, l)
		}
	}},
	{"AFollowUpOfAnErasedRowSkipsIt", func(f *fixture) {
		parent := f.over(2)
		f.erases(0, campaign.Erased{Rows: 1})
		child := f.create(func(r *campaign.Run) { r.Parent = parent.No })
		line := f.lines(parent.No)[0]
		row := []campaign.Delivery{{Run: child.No, Row: 1, To: line.To, Key: line.Key, Cells: []string{"x"}}}
		f.ok(f.l.AppendRows(f.ctx, child.No, 0, row, oneSegment(child.No, 1)))
		f.anonymous(child.No, 0)
		f.ok(f.l.FinishImport(f.ctx, child.No, 1, campaign.Ready))
		l := f.lease(child.No, long)
		if g := f.intend(intent(l, 0, 1)); g.To != 1 || g.Skipped[0] != campaign.Suppressed {
			f.Errorf("an intent for the row: %+v; want To 1, skipped as suppressed", g)
		}
		f.ended(l)
	}},
}
