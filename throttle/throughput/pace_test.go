package throughput_test

import (
	"fmt"
	"math"
	"testing"

	"campaignd/throttle/throughput"
)

// The levels of docs/limits.md#throughput: 80/s STANDARD, 1,000 HIGH, 20 coexistence. The terms of
// docs/limits.md#pace: factor 0.90 up to 100/s, 0.95 from 500/s; at least 5 % kept for inbound, 30
// % for coexistence.
func TestPaceFollowsTheDefaults(t *testing.T) {
	for _, c := range []struct {
		number throughput.Number
		rate   float64
		how    string
	}{
		{throughput.Number{}, 68.4, "68.4/s = 0.9 x (80 STANDARD - 4 (5 % for inbound))"},
		{throughput.Number{Level: "STANDARD"}, 68.4, ""},
		{throughput.Number{Level: "high"}, 902.5, "902.5/s = 0.95 x (1000 HIGH - 50 (5 % for inbound))"},
		{throughput.Number{Coexistence: true}, 12.6, "12.6/s = 0.9 x (20 coexistence - 6 (30 % for inbound and the phone))"},
		{throughput.Number{Limit: 20}, 17.1, "17.1/s = 0.9 x (20 as configured or told by the service - 1 (5 % for inbound))"},
		{throughput.Number{Limit: 100}, 85.5, ""},
		{throughput.Number{Limit: 300}, 0.925 * 285, ""},
		{throughput.Number{Limit: 500}, 0.95 * 475, ""},
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
		number throughput.Number
		want   throughput.Pace
	}{
		{throughput.Number{}, throughput.Pace{Rate: 68.4, Limit: 80, Source: "STANDARD", Factor: 0.9, Reserve: 4, Share: inbound}},
		{throughput.Number{Level: "unheard of"},
			throughput.Pace{Rate: 68.4, Limit: 80, Source: "STANDARD", Factor: 0.9, Reserve: 4, Share: inbound}},
		{throughput.Number{Level: "HIGH"}, throughput.Pace{Rate: 902.5, Limit: 1000, Source: "HIGH", Factor: 0.95, Reserve: 50, Share: inbound}},
		{throughput.Number{Level: "HIGH", Coexistence: true},
			throughput.Pace{Rate: 12.6, Limit: 20, Source: "coexistence", Factor: 0.9, Reserve: 6, Share: phone, Fixed: true}},
		{throughput.Number{Limit: 50, Coexistence: true},
			throughput.Pace{Rate: 31.5, Limit: 50, Source: configured, Factor: 0.9, Reserve: 15, Share: phone, Fixed: true}},
		{throughput.Number{Limit: -1}, throughput.Pace{Rate: 68.4, Limit: 80, Source: "STANDARD", Factor: 0.9, Reserve: 4, Share: inbound}},
		{throughput.Number{Limit: 0.5}, throughput.Pace{Rate: 0.4275, Limit: 0.5, Source: configured, Factor: 0.9,
			Reserve: 0.025, Share: inbound}},

		{throughput.Number{Limit: 60}, throughput.Pace{Rate: 51.3, Limit: 60, Source: configured, Factor: 0.9, Reserve: 3, Share: inbound}},
		{throughput.Number{Limit: 100}, throughput.Pace{Rate: 85.5, Limit: 100, Source: configured, Factor: 0.9, Reserve: 5, Share: inbound}},
		{throughput.Number{Limit: 140}, throughput.Pace{Rate: 120.365, Limit: 140, Source: configured, Factor: 0.905,
			Reserve: 7, Share: inbound}},
		{throughput.Number{Limit: 460}, throughput.Pace{Rate: 412.965, Limit: 460, Source: configured, Factor: 0.945,
			Reserve: 23, Share: inbound}},
		{throughput.Number{Limit: 500}, throughput.Pace{Rate: 451.25, Limit: 500, Source: configured, Factor: 0.95, Reserve: 25, Share: inbound}},
		{throughput.Number{Limit: 540}, throughput.Pace{Rate: 487.35, Limit: 540, Source: configured, Factor: 0.95, Reserve: 27, Share: inbound}},
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
	if throughput.StandardLimit != 80 || throughput.HighLimit != 1000 || throughput.CoexistenceLimit != 20 {
		t.Errorf("limits %d, %d, %d; want 80, 1000, 20", throughput.StandardLimit, throughput.HighLimit, throughput.CoexistenceLimit)
	}
}

func ExampleNumber_Pace() {
	fmt.Println(throughput.Number{Level: "HIGH"}.Pace())
	// Output: 902.5/s = 0.95 x (1000 HIGH - 50 (5 % for inbound))
}
