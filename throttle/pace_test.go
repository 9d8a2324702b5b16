package throttle_test

import (
	"fmt"
	"math"
	"testing"

	"campaignd/throttle"
)

// Design section 6 and throttle.md 12: 80 STANDARD, 1,000 HIGH, 20 coexistence; 0.90 up to
// 100/s, 0.95 from 500/s; 5 % for inbound at least, 30 % for coexistence.
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
		{throttle.Number{Limit: 100}, 85.5, ""},
		{throttle.Number{Limit: 300}, 0.925 * 285, ""},
		{throttle.Number{Limit: 500}, 0.95 * 475, ""},
		{throttle.Number{Inbound: 2}, 68.4, ""},
		{throttle.Number{Inbound: 15}, 58.5, "58.5/s = 0.9 x (80 STANDARD - 15 (inbound as measured))"},
		{throttle.Number{Factor: 1, Limit: 20}, 19, "19/s = 1 x (20 as configured or told by the service - 1 (5 % for inbound))"},
		{throttle.Number{Inbound: 200}, 1.6, "1.6/s: the least, because 200 of 80 STANDARD is inbound"},
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

func ExampleNumber_Pace() {
	fmt.Println(throttle.Number{Level: "HIGH", Inbound: 120}.Pace())
	// Output: 836/s = 0.95 x (1000 HIGH - 120 (inbound as measured))
}
