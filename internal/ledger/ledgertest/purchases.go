package ledgertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

// order is an order of the person of seq, created and changed at these seconds after noon, of 10
// euros, paid.
func order(id string, seq int64, created, updated int) conversion.Order {
	return conversion.Order{ID: id, Key: key(seq), Amount: "10.00", Currency: "EUR", CreatedAt: at(created), UpdatedAt: at(updated),
		WasPaid: true}
}

// paidWithin is the rule of the runs of the suite.
var paidWithin = conversion.Rule{Within: time.Hour, Count: conversion.Paid}

func (f *fixture) store(orders ...conversion.Order) {
	f.Helper()
	f.ok(f.l.StorePurchases(f.ctx, orders))
}

// match matches all segments of a run, and returns how many deliveries changed.
func (f *fixture) match(no campaign.RunNo) (changed int) {
	f.Helper()
	segments, err := f.l.SegmentStates(f.ctx, no)
	f.ok(err)
	for _, s := range segments {
		n, err := f.l.MatchPurchases(f.ctx, s, reception.Span{Since: at(-60), Until: at(3600)}, paidWithin)
		f.ok(err)
		changed += n
	}
	return changed
}

// tally counts the orders of a run that started at noon.
func (f *fixture) tally(no campaign.RunNo) conversion.Tally {
	f.Helper()
	t, err := f.l.CountPurchases(f.ctx, conversion.Tally{Run: int64(no), Rule: paidWithin, Start: at(0)})
	f.ok(err)
	return t
}

// converted fails unless the run has these conversions.
func (f *fixture) converted(no campaign.RunNo, orders, people, reversed int64, revenue ...conversion.Revenue) {
	f.Helper()
	t := f.tally(no)
	want := conversion.Conversions{Orders: orders, People: people, Reversed: reversed, Revenue: append([]conversion.Revenue{}, revenue...)}
	if diff := cmp.Diff(want, t.Conversions()); diff != "" {
		f.Errorf("conversions of run %d -want +got:\n%s", no, diff)
	}
	f.sound(no)
}

// toldAndHeld makes a run of n deliveries, all accepted a second after noon, and of rows behind
// them that it held out.
func (f *fixture) toldAndHeld(n, heldOut int64) campaign.Run {
	f.Helper()
	r := f.create()
	rows := deliveries(0, n)
	f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: n}}))
	if heldOut > 0 {
		held := deliveries(n, n+heldOut)
		for i := range held {
			held[i].Seq += campaign.SegmentSize - n
			held[i].Skip = campaign.HeldOut
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, n, held, []campaign.Segment{{Run: r.No, Index: 1, Lo: campaign.SegmentSize,
			Hi: campaign.SegmentSize + heldOut, Closed: true}}))
	}
	f.ok(f.l.FinishImport(f.ctx, r.No, n+heldOut, campaign.Ready))
	l := f.lease(r.No, long)
	f.sent(l, 0, n)
	for seq := range n {
		f.record(acceptance(l, seq))
	}
	return f.run(r.No)
}

func euros(amount string) conversion.Revenue {
	return conversion.Revenue{Currency: "EUR", Amount: json.Number(amount)}
}

var purchasePromises = []promise{
	{"AnOrderHasOneHint", func(f *fixture) {
		first, second := campaign.OrderHint{Order: "o1", At: at(1), Received: at(2)}, campaign.OrderHint{Order: "o2", At: at(1), Received: at(1)}
		f.ok(f.l.AddHints(f.ctx, []campaign.OrderHint{first, second, first}))
		f.ok(f.l.AddHints(f.ctx, []campaign.OrderHint{{Order: "o1", At: at(0), Received: at(9)}}))
		hints, err := f.l.Hints(f.ctx, 10)
		f.ok(err)
		first.Events, second.Events = 3, 1
		if diff := cmp.Diff([]campaign.OrderHint{second, first}, hints); diff != "" {
			f.Errorf("hints -want +got:\n%s", diff)
		}
		if n, oldest, err := f.l.HintBacklog(f.ctx); n != 2 || !oldest.Equal(at(1)) || err != nil {
			f.Errorf("backlog %d since %v, %v; want 2 since %v", n, oldest, err, at(1))
		}
		if some, err := f.l.Hints(f.ctx, 1); len(some) != 1 || err != nil {
			f.Errorf("one hint: %v, %v; want one", some, err)
		}
	}},
	{"AHintOutlivesAnAnswerBeforeItsLastEvent", func(f *fixture) {
		hint := campaign.OrderHint{Order: "o1", At: at(1), Received: at(1), Events: 1}
		f.ok(f.l.AddHints(f.ctx, []campaign.OrderHint{hint}))
		f.ok(f.l.AddHints(f.ctx, []campaign.OrderHint{{Order: "o1", At: at(5), Received: at(5)}}))
		f.ok(f.l.EndHint(f.ctx, hint))
		f.store(order("o1", 0, 1, 4))
		if n, _, err := f.l.HintBacklog(f.ctx); n != 1 || err != nil {
			f.Errorf("backlog %d, %v; want the hint of the later event", n, err)
		}
		f.store(order("o1", 0, 1, 5))
		if n, oldest, err := f.l.HintBacklog(f.ctx); n != 0 || !oldest.IsZero() || err != nil {
			f.Errorf("backlog %d since %v, %v; want none once the order as of the event is stored", n, oldest, err)
		}
	}},
	{"UnreadOrdersAreKeptUntilTheyAreStored", func(f *fixture) {
		f.ok(f.l.StoreUnread(f.ctx, []string{"o2", "o1", "o1", ""}, at(1)))
		f.ok(f.l.StoreUnread(f.ctx, []string{"o1"}, at(2)))
		if t := f.tally(1); t.Unread != 3 || t.UnreadID != "o2" {
			f.Errorf("unread %d, %q; want 3, among them o2", t.Unread, t.UnreadID)
		}
		f.store(order("o2", 0, 1, 4))
		if t := f.tally(1); t.Unread != 2 || t.UnreadID != "o1" {
			f.Errorf("unread %d, %q; want 2 once o2 could be read", t.Unread, t.UnreadID)
		}
		var many []string
		for i := range campaign.MaxUnread + 9 {
			many = append(many, fmt.Sprintf("p%05d", i))
		}
		f.ok(f.l.StoreUnread(f.ctx, many, at(3)))
		f.ok(f.l.StoreUnread(f.ctx, []string{"o1"}, at(4)))
		if t := f.tally(1); t.Unread != campaign.MaxUnread {
			f.Errorf("unread %d; want at most %d", t.Unread, campaign.MaxUnread)
		}
	}},
	{"OrdersThatCountAreAskedForAgain", func(f *fixture) {
		r := f.toldAndHeld(4, 0)
		f.store(order("o1", 0, 5, 5), order("o2", 1, 5, 5), order("before", 2, -50, 5), order("nobodys", 9, 5, 5))
		ended := order("ended", 3, 5, 5)
		ended.Ended = true
		f.store(ended)
		f.match(r.No)
		soon, later := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
		hinted := func(before, now time.Time, n int, want ...string) {
			f.Helper()
			f.ok(f.l.AskAgain(f.ctx, at(0), before, now, n))
			hints, err := f.l.Hints(f.ctx, 9)
			f.ok(err)
			var got []string
			for _, h := range hints {
				got = append(got, h.Order)
				f.ok(f.l.EndHint(f.ctx, h))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				f.Errorf("asked again for %q; want %q", got, want)
			}
		}
		hinted(time.Now().Add(-time.Minute), soon, 9) // they were stored a moment ago
		hinted(soon, soon, 9, "o1", "o2")
		hinted(soon, soon, 9)
		hinted(later, later, 1, "o1")
		hinted(later, later, 1, "o2")
	}},
	{"ARemovedOrderCountsNoLonger", func(f *fixture) {
		r := f.toldAndHeld(1, 0)
		f.store(order("o1", 0, 5, 5))
		f.match(r.No)
		f.converted(r.No, 1, 1, 0, euros("10"))
		f.ok(f.l.AddHints(f.ctx, []campaign.OrderHint{{Order: "o1", At: at(0), Received: at(1)}}))
		for _, want := range []bool{true, false} {
			if counted, err := f.l.RemovePurchase(f.ctx, campaign.OrderHint{Order: "o1", Events: 1}); counted != want || err != nil {
				f.Errorf("removed: counted %v, %v; want %v", counted, err, want)
			}
		}
		f.converted(r.No, 0, 0, 1)
		if n, _, err := f.l.HintBacklog(f.ctx); n != 0 || err != nil {
			f.Errorf("backlog %d, %v; want none", n, err)
		}
		f.store(order("o1", 0, 5, 5)) // the platform has it again
		f.converted(r.No, 1, 1, 0, euros("10"))
	}},
	{"ThePollGoesOnWhereItEnded", func(f *fixture) {
		if got, err := f.l.PolledUntil(f.ctx); !got.IsZero() || err != nil {
			f.Errorf("polled until %v, %v; want nothing at first", got, err)
		}
		f.ok(f.l.SetPolledUntil(f.ctx, at(7)))
		if got, err := f.l.PolledUntil(f.ctx); !got.Equal(at(7)) || err != nil {
			f.Errorf("polled until %v, %v; want %v", got, err, at(7))
		}
	}},
	{"AnOrderCountsForTheLastRunOnce", func(f *fixture) {
		first, second := f.toldAndHeld(3, 0), f.toldAndHeld(3, 0)
		f.store(order("o1", 0, 5, 5), order("o2", 0, 6, 6), order("o3", 1, 7, 7), order("early", 2, 0, 0))
		if n := f.match(first.No) + f.match(second.No); n != 8 {
			f.Errorf("the first match changed %d deliveries; want 4 of each run", n)
		}
		f.converted(first.No, 0, 0, 0)
		f.converted(second.No, 3, 2, 0, euros("30"))
		if n := f.match(first.No) + f.match(second.No); n != 0 {
			f.Errorf("a repeated match changed %d deliveries; want 0", n)
		}
	}},
	{"TheNewestChangeOfAnOrderWins", func(f *fixture) {
		r := f.toldAndHeld(2, 0)
		late := order("o1", 0, 5, 9)
		late.Amount = "12.50"
		f.store(late)
		f.store(order("o1", 0, 5, 8))
		f.match(r.No)
		f.converted(r.No, 1, 1, 0, euros("12.5"))
		refund := late
		refund.UpdatedAt, refund.Ended, refund.Due, refund.WasPaid = at(10), true, true, false
		f.store(refund)
		f.converted(r.No, 0, 0, 1)
		f.store(late)
		f.converted(r.No, 0, 0, 1)
	}},
	{"AnOrderThatMovesToAnotherPersonFollowsThem", func(f *fixture) {
		r := f.toldAndHeld(2, 0)
		f.store(order("o1", 0, 5, 5))
		f.match(r.No)
		f.store(order("o1", 99, 5, 6))
		f.match(r.No)
		f.converted(r.No, 0, 0, 0)
		f.store(order("o1", 1, 5, 7))
		f.match(r.No)
		f.converted(r.No, 1, 1, 0, euros("10"))
	}},
	{"AnOrderBeforeItsReceiptCountsOnceThatIsStored", func(f *fixture) {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		f.store(order("o1", 0, 1, 1))
		f.match(r.No)
		f.converted(r.No, 0, 0, 0)
		f.record(acceptance(l, 0))
		f.match(r.No)
		f.converted(r.No, 1, 1, 0, euros("10"))
	}},
	{"WhatWasHeldOutIsComparedWithWhatWasQueued", func(f *fixture) {
		r := f.toldAndHeld(3, 2)
		f.store(order("o1", 0, 5, 5), order("o2", 3, 5, 5), order("o3", 3, 6, 6), order("o4", 77, 6, 6))
		f.match(r.No)
		t := f.tally(r.No)
		want := conversion.NewLift(3, 1, 2, 1)
		if diff := cmp.Diff(want, t.Lift(3, 2)); diff != "" {
			f.Errorf("lift -want +got:\n%s", diff)
		}
		f.converted(r.No, 1, 1, 0, euros("10"))
	}},
	{"ARowThatTheImportSkippedIsInNoGroup", func(f *fixture) {
		r := f.create()
		rows := deliveries(0, 1)
		rows[0].Skip = campaign.MissingVariable
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: 1, Closed: true}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 1, campaign.Ready))
		f.store(order("o1", 0, 5, 5))
		if n := f.match(r.No); n != 0 {
			f.Errorf("%d deliveries matched; want none", n)
		}
	}},
	{"ANumberThatOneAnswerLacksStays", func(f *fixture) {
		r := f.toldAndHeld(2, 0)
		now := int(time.Since(at(0)) / time.Second)
		told, nobody := order("o1", 0, 5, now), order("o1", 0, 5, now)
		nobody.Key = 0
		f.store(nobody)
		f.store(told) // the same change, from the list of orders
		f.match(r.No)
		f.converted(r.No, 1, 1, 0, euros("10"))
		later := nobody
		later.UpdatedAt, later.Amount = at(now+1), "12.00"
		for _, o := range []conversion.Order{nobody, later} {
			f.store(o)
			f.match(r.No)
		}
		f.converted(r.No, 1, 1, 0, euros("12"))
		f.done(f.l.Erase(f.ctx, key(1)))
		f.store(order("o1", 1, 5, now+2)) // of an erased person now
		f.match(r.No)
		f.converted(r.No, 0, 0, 0)
	}},
	{"AnErasureKeepsTheSumsAndNoLaterOrder", func(f *fixture) {
		r := f.toldAndHeld(2, 0)
		f.store(order("o1", 0, 5, 5))
		f.match(r.No)
		erased, err := f.l.Erase(f.ctx, key(0))
		if err != nil || erased.Rows != 1 {
			f.Fatalf("erased %+v, %v; want one row", erased, err)
		}
		f.store(order("o1", 0, 5, 6), order("o2", 0, 6, 6))
		f.match(r.No)
		f.converted(r.No, 1, 1, 0, euros("10"))
	}},
	{"RetentionKeepsTheSums", func(f *fixture) {
		r := f.toldAndHeld(2, 0)
		f.store(order("o1", 0, 5, 5), order("o2", 55, 5, 5))
		f.match(r.No)
		if n, err := f.l.Retire(f.ctx, at(100)); n != 0 || err != nil {
			f.Fatalf("retired %d, %v; want no row, since the run has not ended", n, err)
		}
		f.converted(r.No, 1, 1, 0, euros("10"))
		f.store(order("o3", 1, 5, 200))
		f.match(r.No)
		f.converted(r.No, 2, 2, 0, euros("20"))
	}},
}

// An erasure and orders of the same phone number, at the same time, leave no trace of the number.
func ordersBesideAnErasureStoreNothing(t *testing.T, l Tables) {
	for seq := range int64(20) {
		done := make(chan error, 1)
		go func() {
			done <- l.StorePurchases(t.Context(), []conversion.Order{order(fmt.Sprint("o", seq), seq, 1, 1)})
		}()
		erase(t, l, seq, campaign.Erased{})
		if err := <-done; err != nil {
			t.Errorf("storing an order: %v; want no error", err)
		}
		if err := l.StorePurchases(t.Context(), []conversion.Order{order(fmt.Sprint("late", seq), seq, 2, 2)}); err != nil {
			t.Errorf("storing a later order: %v; want no error", err)
		}
		nowhere(t, l, seq)
	}
}

// Retention deletes orders that no run counts, and the phone numbers of the others.
func oldOrdersHaveNoNumber(t *testing.T, l Tables) {
	orders := []conversion.Order{order("counted", 0, 1, 1), order("other", 1, 1, 1), order("new", 2, 1, 200)}
	if err := l.StorePurchases(t.Context(), orders); err != nil {
		t.Fatalf("storing orders: %v; want no error", err)
	}
	alter(t, l, `INSERT INTO conversion (order_id, rid, accepted_at, held_out) VALUES ('counted', 1, 1, 0)`)
	if n, err := l.Retire(t.Context(), at(100)); n != 0 || err != nil {
		t.Errorf("retired %d, %v; want no row of a run", n, err)
	}
	if err := l.StorePurchases(t.Context(), orders[:1]); err != nil { // a poll reads it again
		t.Errorf("storing an order again: %v; want no error", err)
	}
	for _, c := range []struct{ query, want string }{
		{`SELECT CAST(count(*) AS text) FROM purchase`, "2"},
		{`SELECT CAST(key AS text) FROM purchase WHERE id = 'counted'`, "0"},
		{`SELECT CAST(key AS text) FROM purchase WHERE id = 'new'`, fmt.Sprint(key(2))},
	} {
		if got := stored(t, l, c.query); got != c.want {
			t.Errorf("%s: %s; want %s", c.query, got, c.want)
		}
	}
}
