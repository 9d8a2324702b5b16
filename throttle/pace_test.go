package throttle_test

import (
	"fmt"
	"math"
	"testing"

	"campaignd/throttle"
)

// The levels of docs/limits.md#throughput: 80/s STANDARD, 1,000 HIGH, 20 coexistence. The terms of
// docs/limits.md#pace: factor 0.90 up to 100/s, 0.95 from 500/s; at least 5 % kept for inbound, 30
// % for coexistence.
func TestPaceFollowsTheDefaults(t *testing.T) {
	for _, c := range []struct {
		number throttle.Number
		rate   float64
		how    string
	}{
		{throttle.Number{}, 68.4, "68.4/s = 0.9 x (80 STANDARD - 4 (5 % for inbound))"},
		{throttle.Number{Level: "STANDARD"}, 68.4, ""},
		{throttle.Number{Level: "high"}, 902.5, "902.5/s = 0.95 x (1000 HIGH - 50 (5 % for inbound))"},
		{throttle.Number{Coexistence: true}, 12.6, "12.6/s = 0.9 x (20 coexistence - 6 (30 % for inbound and the phone))"},
		{throttle.Number{Limit: 20}, 17.1, "17.1/s = 0.9 x (20 as configured or told by the service - 1 (5 % for inbound))"},
		{throttle.Number{Limit: 100}, 85.5, ""},
		{throttle.Number{Limit: 300}, 0.925 * 285, ""},
		{throttle.Number{Limit: 500}, 0.95 * 475, ""},
	} {
		p := c.number.Pace()
		if math.Abs(p.Rate-c.rate) > 1e-9 {
			t.Errorf("%+v: %v per second, want %v", c.number, p.Rate, c.rate)
		}
		if c.how != "" && p.String() != c.how {
			t.Errorf("%+v: %q, want %q", c.number, p, c.how)
		}
	}
}

// Each part of a pace, at, just below and just above each edge. The limits are the platform's
// throughput levels, 80 and up to 1,000 messages a second, and the fixed 20 of a number that is
// used on a phone as well
// (https://developers.facebook.com/docs/whatsapp/cloud-api/overview#throughput).
func TestPaceIsExactAtEveryEdge(t *testing.T) {
	const configured = "as configured or told by the service"
	const inbound, phone = "5 % for inbound", "30 % for inbound and the phone"
	for _, c := range []struct {
		number throttle.Number
		want   throttle.Pace
	}{
		{throttle.Number{}, throttle.Pace{Rate: 68.4, Limit: 80, Source: "STANDARD", Factor: 0.9, Reserve: 4, Share: inbound}},
		{throttle.Number{Level: "unheard of"},
			throttle.Pace{Rate: 68.4, Limit: 80, Source: "STANDARD", Factor: 0.9, Reserve: 4, Share: inbound}},
		{throttle.Number{Level: "HIGH"}, throttle.Pace{Rate: 902.5, Limit: 1000, Source: "HIGH", Factor: 0.95, Reserve: 50, Share: inbound}},
		{throttle.Number{Level: "HIGH", Coexistence: true},
			throttle.Pace{Rate: 12.6, Limit: 20, Source: "coexistence", Factor: 0.9, Reserve: 6, Share: phone}},
		{throttle.Number{Limit: 50, Coexistence: true},
			throttle.Pace{Rate: 31.5, Limit: 50, Source: configured, Factor: 0.9, Reserve: 15, Share: phone}},
		{throttle.Number{Limit: -1}, throttle.Pace{Rate: 68.4, Limit: 80, Source: "STANDARD", Factor: 0.9, Reserve: 4, Share: inbound}},
		{throttle.Number{Limit: 0.5}, throttle.Pace{Rate: 0.4275, Limit: 0.5, Source: configured, Factor: 0.9,
			Reserve: 0.025, Share: inbound}},

		{throttle.Number{Limit: 60}, throttle.Pace{Rate: 51.3, Limit: 60, Source: configured, Factor: 0.9, Reserve: 3, Share: inbound}},
		{throttle.Number{Limit: 100}, throttle.Pace{Rate: 85.5, Limit: 100, Source: configured, Factor: 0.9, Reserve: 5, Share: inbound}},
		{throttle.Number{Limit: 140}, throttle.Pace{Rate: 120.365, Limit: 140, Source: configured, Factor: 0.905,
			Reserve: 7, Share: inbound}},
		{throttle.Number{Limit: 460}, throttle.Pace{Rate: 412.965, Limit: 460, Source: configured, Factor: 0.945,
			Reserve: 23, Share: inbound}},
		{throttle.Number{Limit: 500}, throttle.Pace{Rate: 451.25, Limit: 500, Source: configured, Factor: 0.95, Reserve: 25, Share: inbound}},
		{throttle.Number{Limit: 540}, throttle.Pace{Rate: 487.35, Limit: 540, Source: configured, Factor: 0.95, Reserve: 27, Share: inbound}},
	} {
		got := c.number.Pace()
		// Sums in another order differ in the last bit.
		for _, part := range []struct{ got, want *float64 }{{&got.Rate, &c.want.Rate}, {&got.Factor, &c.want.Factor},
			{&got.Reserve, &c.want.Reserve}} {
			if math.Abs(*part.got-*part.want) < 1e-9 {
				*part.got = *part.want
			}
		}
		if got != c.want {
			t.Errorf("%+v:\n got %#v\nwant %#v", c.number, got, c.want)
		}
	}
	if throttle.StandardLimit != 80 || throttle.HighLimit != 1000 || throttle.CoexistenceLimit != 20 {
		t.Errorf("limits %d, %d, %d; want 80, 1000, 20", throttle.StandardLimit, throttle.HighLimit, throttle.CoexistenceLimit)
	}
}

func ExampleNumber_Pace() {
	fmt.Println(throttle.Number{Level: "HIGH"}.Pace())
	// Output: 902.5/s = 0.95 x (1000 HIGH - 50 (5 % for inbound))
}
