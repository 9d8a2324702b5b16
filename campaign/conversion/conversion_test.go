package conversion_test

import (
	"testing"
	"time"

	"campaignd/campaign/conversion"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

const week = 168 * time.Hour

func TestAnOrderIsAttributedToTheLastMessage(t *testing.T) {
	touch := func(run, delivery int64, accepted time.Time) conversion.Touch {
		return conversion.Touch{Run: run, Delivery: delivery, Accepted: accepted}
	}
	for _, tt := range []struct {
		name    string
		touches []conversion.Touch
		want    int
	}{
		{"nobody was told", nil, -1},
		{"the message was too early, too late or never", []conversion.Touch{touch(1, 1, time.Time{})}, -1},
		{"one message", []conversion.Touch{touch(1, 1, noon)}, 0},
		{"the later of two runs", []conversion.Touch{touch(1, 1, noon), touch(2, 2, at(time.Hour)), touch(3, 3, at(time.Minute))}, 1},
		{"at one instant, that of the later run", []conversion.Touch{touch(2, 9, noon), touch(1, 8, noon)}, 0},
		{"not a message that cannot have brought it", []conversion.Touch{touch(1, 1, noon), touch(2, 2, time.Time{})}, 0},
	} {
		if got := conversion.Last(tt.touches); got != tt.want {
			t.Errorf("%s: attributed to %d; want %d", tt.name, got, tt.want)
		}
	}
}

func TestAMessageReachesOrdersInWholeSeconds(t *testing.T) {
	rule := conversion.Rule{Within: time.Hour}
	for _, tt := range []struct {
		created time.Time
		want    bool
	}{
		{at(-time.Second), false}, {noon, true}, {at(time.Minute), true}, {at(time.Hour), true}, {at(time.Hour + time.Second), false},
	} {
		if got := rule.Reaches(noon.Add(900*time.Millisecond), tt.created); got != tt.want {
			t.Errorf("an order of %v reached by a message of 12:00:00.9: %v; want %v", tt.created, got, tt.want)
		}
	}
	if rule.Reaches(time.Time{}, noon) {
		t.Error("a message that was never accepted reaches an order; want none")
	}
}

// Two runs overlap. These are figures by hand. Among the second run's people 11 bought for 10.10,
// 20 euros and 5000 francs, 12 bought and was refunded, 13 cancelled before paying, 14 has not
// paid, and 15 was told by the first run later. The run held out 16, who bought, 17, who was
// refunded, and 18, who bought too late.
func TestFiguresOfTwoRunsAreThoseByHand(t *testing.T) {
	order := func(amount, currency string, change ...func(*conversion.Order)) *conversion.Order {
		o := &conversion.Order{ID: "o", Amount: amount, Currency: currency, CreatedAt: at(2 * time.Hour), WasPaid: true}
		for _, c := range change {
			c(o)
		}
		return o
	}
	due := func(o *conversion.Order) { o.Due, o.WasPaid = true, false }
	ended := func(o *conversion.Order) { o.Ended = true }
	late := func(o *conversion.Order) { o.CreatedAt = at(2*week + time.Hour) }
	second := func(delivery int64) conversion.Touch {
		return conversion.Touch{Run: 2, Delivery: delivery, Accepted: at(time.Hour)}
	}
	held := func(delivery int64) conversion.Touch {
		return conversion.Touch{Run: 2, Delivery: delivery, HeldOut: true}
	}
	first := func(delivery int64, after time.Duration) conversion.Touch {
		return conversion.Touch{Run: 1, Delivery: delivery, Accepted: at(after)}
	}
	orders := []struct {
		o       *conversion.Order
		touches []conversion.Touch
	}{
		{order("10.10", "EUR"), []conversion.Touch{first(1, 0), second(11)}},
		{order("20", "EUR"), []conversion.Touch{second(11)}},
		{order("5000", "XAF"), []conversion.Touch{second(11)}},
		{order("7", "EUR", ended), []conversion.Touch{second(12)}},
		{order("8", "EUR", due, ended), []conversion.Touch{second(13)}},
		{order("9", "EUR", due), []conversion.Touch{second(14)}},
		{order("1.90", "EUR"), []conversion.Touch{second(15), first(5, 90*time.Minute)}},
		{order("30", "EUR"), []conversion.Touch{held(16)}},
		{order("31", "EUR", ended), []conversion.Touch{held(17)}},
		{order("32", "EUR", late), []conversion.Touch{held(18)}},
	}
	tally := func(run int64, count conversion.Count) *conversion.Tally {
		sum := &conversion.Tally{Run: run, Rule: conversion.Rule{Within: week, Count: count}, Start: noon, End: at(time.Hour)}
		for _, o := range orders {
			if err := sum.Add(o.o, o.touches); err != nil {
				t.Fatalf("adding an order: %v; want no error", err)
			}
		}
		return sum
	}
	type money = []conversion.Revenue
	for _, tt := range []struct {
		run   int64
		count conversion.Count
		want  conversion.Conversions
	}{
		{1, conversion.Paid, conversion.Conversions{Orders: 1, People: 1, Revenue: money{{"EUR", "1.9"}}}},
		{2, conversion.Paid, conversion.Conversions{Orders: 3, People: 1, Reversed: 1, Revenue: money{{"EUR", "30.1"}, {"XAF", "5000"}}}},
		{2, conversion.Created, conversion.Conversions{Orders: 4, People: 2, Reversed: 2, Revenue: money{{"EUR", "39.1"}, {"XAF", "5000"}}}},
		{3, conversion.Paid, conversion.Conversions{Revenue: money{}}},
	} {
		if diff := cmp.Diff(tt.want, tally(tt.run, tt.count).Conversions()); diff != "" {
			t.Errorf("run %d, count %s -want +got:\n%s", tt.run, tt.count, diff)
		}
	}
	lift := tally(2, conversion.Paid).Lift(200, 100)
	if lift.TreatedConverted != 2 || lift.HeldOutConverted != 1 || lift.Difference != 0 || lift.Warning != "" {
		t.Errorf("lift %+v; want 11 and 15 of 200, and 16 of 100, which is no difference, without a warning", lift)
	}
}

// A comparison that ended early counts the orders of before its end, of both groups, and
// attributes all.
func TestALiftCountsNoOrderAfterItsEnd(t *testing.T) {
	tally := conversion.Tally{Run: 1, Rule: conversion.Rule{Within: week, Count: conversion.Created}, Start: noon, End: at(time.Hour),
		Until: at(3 * time.Hour)}
	for i, after := range []time.Duration{2 * time.Hour, 3*time.Hour - time.Second, 3 * time.Hour, 4 * time.Hour} {
		for _, touch := range []conversion.Touch{{Run: 1, Delivery: int64(i), Accepted: noon}, {Run: 1, Delivery: int64(10 + i), HeldOut: true}} {
			o := conversion.Order{Amount: "1", Currency: "EUR", CreatedAt: at(after)}
			if err := tally.Add(&o, []conversion.Touch{touch}); err != nil {
				t.Fatalf("adding an order: %v; want no error", err)
			}
		}
	}
	if got := tally.Lift(9, 9); got.TreatedConverted != 2 || got.HeldOutConverted != 2 || tally.Conversions().Orders != 4 {
		t.Errorf("got %+v and %+v; want 2 and 2 converted, of 4 orders", got, tally.Conversions())
	}
}

func TestAnAmountThatIsNoNumberIsAnError(t *testing.T) {
	tally := conversion.Tally{Run: 1, Rule: conversion.Rule{Within: week}}
	err := tally.Add(&conversion.Order{Amount: "ten"}, []conversion.Touch{{Run: 1, Accepted: noon}})
	if err == nil {
		t.Error("an order of \"ten\" was added; want an error")
	}
}

// Nobody can have bought before the run started.
func TestARunThatHasNotStartedHasNoLift(t *testing.T) {
	tally := conversion.Tally{Run: 1, Rule: conversion.Rule{Within: week}}
	if err := tally.Add(&conversion.Order{Amount: "1", CreatedAt: noon}, []conversion.Touch{{Run: 1, HeldOut: true}}); err != nil {
		t.Fatalf("adding an order: %v; want no error", err)
	}
	if got := tally.Lift(1, 1); got.HeldOutConverted != 0 {
		t.Errorf("%+v; want nobody converted before the run started", got)
	}
}
