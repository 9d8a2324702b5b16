package campaign

import (
	"testing"
	"time"
)

var holdNoon = time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return holdNoon.Add(time.Duration(n) * time.Minute) }

func paused(since int) Hold {
	return Hold{Scope: HoldTemplate, ID: TemplateID("acc", "promo", "en_US"), Reason: "PAUSED", Source: HoldByEvent, Since: minute(since)}
}

// Reports and lifts of one template, in the order in which they arrive. The numbers are the minutes
// of their own times; negative: a lift.
func TestOldEventsNeverWinOverNewerOnes(t *testing.T) {
	for name, c := range map[string]struct {
		arrive []int
		held   bool
	}{
		"a pause":                                  {[]int{10}, true},
		"a pause and its approval":                 {[]int{10, -11}, false},
		"an approval of the day before":            {[]int{1500, -60}, true},
		"a pause that comes after its approval":    {[]int{-11, 10}, false},
		"a pause that comes again":                 {[]int{10, -11, 10}, false},
		"a second pause":                           {[]int{10, -11, 12}, true},
		"an approval that comes after two pauses":  {[]int{10, 12, -11}, true},
		"an approval at the instant of the pause":  {[]int{10, -10}, false},
		"two approvals, the older one comes later": {[]int{10, -13, -9, 12}, false},
	} {
		var h Hold
		var healed time.Time
		for n, m := range c.arrive {
			now := minute(2000 + n)
			if m > 0 {
				h, _ = h.Renew(paused(m), healed, now)
				continue
			}
			l := Lift{Scope: HoldTemplate, ID: paused(0).ID, At: minute(-m), By: HoldByEvent}
			if l.Ends(h) {
				h.Lifted = l.At
			}
			if l.At.After(healed) {
				healed = l.At
			}
		}
		if got := h.Scope != "" && h.InForce(minute(3000)); got != c.held {
			t.Errorf("%s: held %t, want %t", name, got, c.held)
		}
	}
}

func TestARestOfABreakerIsNotProlongedByReports(t *testing.T) {
	trip := Hold{Scope: HoldConnection, ID: "conn_1", Reason: "breaker", Source: HoldByBreaker, Since: holdNoon}
	var h Hold
	h, _ = h.Renew(trip, time.Time{}, holdNoon)
	h, _ = h.Renew(trip, time.Time{}, holdNoon.Add(time.Second))
	if got, want := h.Until, holdNoon.Add(5*time.Second); !got.Equal(want) || h.Count != 1 {
		t.Errorf("the rest ends at %v, count %d; want %v, 1", got, h.Count, want)
	}
	h, _ = h.Renew(trip, time.Time{}, holdNoon.Add(6*time.Second))
	if got, want := h.Until, holdNoon.Add(16*time.Second); !got.Equal(want) || h.Count != 2 {
		t.Errorf("the second rest ends at %v, count %d; want %v, 2", got, h.Count, want)
	}
}

func TestTheOperatorsLastWordCounts(t *testing.T) {
	hold := Hold{Scope: HoldConnection, ID: "conn_1", Reason: "operator", Source: HoldByOperator, Since: holdNoon}
	var h Hold
	h, _ = h.Renew(hold, time.Time{}, holdNoon)
	hold.Until = minute(10)
	h, _ = h.Renew(hold, time.Time{}, minute(1))
	if !h.Until.Equal(minute(10)) {
		t.Errorf("the hold ends at %v, want %v as the operator said last", h.Until, minute(10))
	}
}
