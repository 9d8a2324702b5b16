package conversion_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"campaignd/campaign/conversion"
)

// The intervals are those of table II in the article that docs/commerce.md#lift cites.
func TestTheIntervalIsThatOfTheArticle(t *testing.T) {
	for _, tt := range []struct {
		x1, n1, x2, n2 int64
		low, high      float64
	}{
		{56, 70, 48, 80, 0.0524, 0.3339},
		{9, 10, 3, 10, 0.1705, 0.8090},
		{6, 7, 2, 7, 0.0582, 0.8062},
		{5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775},
		{0, 10, 0, 10, -0.2775, 0.2775},
		{10, 10, 0, 20, 0.6791, 1},
		{10, 10, 0, 10, 0.6075, 1},
	} {
		l := conversion.NewLift(tt.n1, tt.x1, tt.n2, tt.x2)
		if near := func(a, b float64) bool { return a-b < 6e-5 && b-a < 6e-5 }; !near(l.Low, tt.low) || !near(l.High, tt.high) {
			t.Errorf("%d/%d - %d/%d: %.4f to %.4f; want %.4f to %.4f", tt.x1, tt.n1, tt.x2, tt.n2, l.Low, l.High, tt.low, tt.high)
		}
	}
}

func TestASmallGroupIsWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		treated, heldOut int64
		want             string
	}{
		{100, 100, ""}, {99, 100, "fewer than 100"}, {100, 99, "fewer than 100"}, {0, 100, "nobody"}, {100, 0, "nobody"},
	} {
		l := conversion.NewLift(tt.treated, 0, tt.heldOut, 0)
		if !strings.Contains(l.Warning, tt.want) || (l.Warning == "") != (tt.want == "") {
			t.Errorf("%d and %d people: warning %q; want %q in it", tt.treated, tt.heldOut, l.Warning, tt.want)
		}
		if tt.want == "nobody" && (l.Low != -1 || l.High != 1) {
			t.Errorf("a group of nobody: %v to %v; want -1 to 1", l.Low, l.High)
		}
	}
}

var campaigns = flag.Int("campaigns", 200, "how many campaigns TestTheIntervalCoversTheTruth simulates for each seed")

// Each campaign has 5,000 to 50,000 people, of whom 1 to 10 % buy by themselves, 0 to 5 points more
// if they are told, and 5 to 30 % are held out. Every person is drawn, and their orders are folded
// as those of the ledger are.
func TestTheIntervalCoversTheTruth(t *testing.T) {
	for _, seed := range []uint64{1, 29, 2026} {
		draw := rand.New(rand.NewPCG(seed, seed))
		covered := 0
		for range *campaigns {
			chance, effect := 0.01+0.09*draw.Float64(), 0.05*draw.Float64()
			share, people := 0.05+0.25*draw.Float64(), 5_000+draw.IntN(45_001)
			if l := simulated(t, draw, people, chance, effect, share); l.Low <= effect && effect <= l.High {
				covered++
			}
		}
		if got := float64(covered) / float64(*campaigns); got < 0.90 || got > 0.98 {
			t.Errorf("seed %d: the interval covers the truth in %.1f %% of %d campaigns; want 90 to 98 %%", seed, 100*got, *campaigns)
		} else {
			t.Logf("seed %d: the interval covers the truth in %.1f %% of %d campaigns", seed, 100*got, *campaigns)
		}
	}
}

// simulated draws the people of a campaign and returns its lift.
func simulated(t *testing.T, draw *rand.Rand, people int, chance, effect, share float64) conversion.Lift {
	t.Helper()
	tally := conversion.Tally{Run: 1, Rule: conversion.Rule{Within: week, Count: conversion.Paid}, Start: noon, End: at(time.Hour)}
	var treated, heldOut int64
	for person := range int64(people) {
		touch := conversion.Touch{Run: 1, Delivery: person, HeldOut: draw.Float64() < share}
		buys := chance
		if touch.HeldOut {
			heldOut++
		} else {
			treated++
			touch.Accepted = noon
			buys += effect
		}
		if draw.Float64() >= buys {
			continue
		}
		o := conversion.Order{Amount: "1", Currency: "EUR", WasPaid: true,
			CreatedAt: at(time.Duration(draw.Float64() * float64(week)))}
		if err := tally.Add(&o, []conversion.Touch{touch}); err != nil {
			t.Fatalf("adding an order: %v; want no error", err)
		}
	}
	return tally.Lift(treated, heldOut)
}
