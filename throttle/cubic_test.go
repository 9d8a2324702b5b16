package throttle_test

import (
	"math"
	"testing"
	"time"

	"campaignd/throttle"
)

func TestCubicCutsOnceInHalfASecond(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := throttle.NewCubic(100)
	for range 4 { // four replicas report the same half second
		c.Observe(now, 5, 5, 0)
		now = now.Add(100 * time.Millisecond)
	}
	if got := c.Rate(); math.Abs(got-70) > 1e-9 {
		t.Errorf("after one half second of throttling %.1f per second, want 70", got)
	}
	c.Observe(now.Add(100*time.Millisecond), 0, 5, 0)
	if got := c.Rate(); math.Abs(got-49) > 1e-9 {
		t.Errorf("after a second half second %.1f per second, want 49", got)
	}
}

func TestCubicDoesNotGrowUnused(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := throttle.NewCubic(100)
	c.Observe(now, 20, 5, 0)
	cut := c.Rate()
	for range 100 { // ten seconds at a tenth of the rate
		now = now.Add(100 * time.Millisecond)
		c.Observe(now, 1, 0, 100*time.Millisecond)
	}
	if got := c.Rate(); got != cut {
		t.Errorf("a tenth of the rate was used: it is %.1f, want %.1f as before", got, cut)
	}
	for range 100 {
		now = now.Add(100 * time.Millisecond)
		c.Observe(now, int(c.Rate()/10), 0, 0)
	}
	if got := c.Rate(); got != 100 {
		t.Errorf("after ten busy seconds %.1f per second, want the ceiling", got)
	}
}

// Each of several replicas sees its share of the answers and waits for slots all the time. All of
// them use the rate, so all grow back.
func TestCubicGrowsWhereOthersUseMostOfTheRate(t *testing.T) {
	for _, replicas := range []int{2, 4, 8} {
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		c := throttle.NewCubic(72)
		c.Observe(now, 5, 5, 0)
		owed := 0.0
		for range 1200 { // two minutes
			now = now.Add(100 * time.Millisecond)
			owed += c.Rate() / 10 / float64(replicas)
			c.Observe(now, int(owed), 0, 0)
			owed -= math.Floor(owed)
		}
		if got := c.Rate(); got != 72 {
			t.Errorf("one of %d replicas sends at %.1f per second two minutes after the only refusal, want 72", replicas, got)
		}
	}
}

func TestCubicProbesUntilOneIsAccepted(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := throttle.NewCubic(80)
	for range 20 {
		now = now.Add(100 * time.Millisecond)
		c.Observe(now, 0, 8, 0)
	}
	if !c.Probing() || c.Rate() != 1 {
		t.Fatalf("two seconds of refusals: probing %v at %v per second, want one per second", c.Probing(), c.Rate())
	}
	now = now.Add(time.Hour)
	c.Observe(now, 0, 1, 0)
	if !c.Probing() {
		t.Fatalf("after a refused probe: probing %v, want true", c.Probing())
	}
	c.Observe(now.Add(time.Second), 1, 0, 0)
	if c.Probing() || c.Rate() != 8 {
		t.Errorf("an accepted probe: probing %v at %v per second, want 8 (a tenth of the ceiling)", c.Probing(), c.Rate())
	}
}

// One throttling answer in a thousand is noise at 1,000 a second (docs/limits.md#slowing-down).
func TestCubicIgnoresNoiseOfABusyNumber(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := throttle.NewCubic(1000)
	for range 50 {
		now = now.Add(500 * time.Millisecond)
		c.Observe(now, 499, 1, 0)
	}
	if c.Rate() != 1000 {
		t.Errorf("%.0f per second, want 1000", c.Rate())
	}
	c.Observe(now.Add(500*time.Millisecond), 450, 50, 0)
	if c.Rate() != 700 {
		t.Errorf("50 throttled: %.0f per second, want 700", c.Rate())
	}
}

func TestCubicFollowsItsCeiling(t *testing.T) {
	c := throttle.NewCubic(80)
	c.Observe(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), 0, 5, 0)
	c.SetCeiling(800)
	if got := c.Multiplier(); math.Abs(got-0.7) > 1e-9 || math.Abs(c.Rate()-560) > 1e-9 {
		t.Errorf("multiplier %.3f, %.1f per second; want 0.7 and 560", got, c.Rate())
	}
}

// curve is RFC 9438, section 4.2, with its constants: C is 0.4 and a cut leaves 0.7. x is the time
// since the cut in seconds, peak the rate before it.
func curve(x, peak float64) float64 {
	return 0.4*math.Pow(x-math.Cbrt(peak*0.3/0.4), 3) + peak
}

// answers is one call of Observe and the rate after it.
type answers struct {
	at                  time.Duration // since the first call
	accepted, throttled int
	idle                time.Duration
	rate                float64
}

// The rate after each answer, at, just below and just above each edge.
func TestCubicIsExactAtEveryEdge(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		ceiling float64
		seen    []answers
		probing bool // at the end
	}{
		{"a cut and the way back", 100, []answers{
			{0, 20, 5, 0, 70}, {500 * ms, 35, 0, 0, 70}, // the half second of the cut
			{1000 * ms, 35, 0, 0, curve(0.5, 100)}, {1500 * ms, 40, 0, 0, curve(1, 100)}, {2000 * ms, 44, 0, 0, curve(1.5, 100)},
			{2500 * ms, 46, 0, 0, curve(2, 100)}, {3000 * ms, 48, 0, 0, curve(2.5, 100)}, {3500 * ms, 49, 0, 0, curve(3, 100)},
			{4000 * ms, 49, 0, 0, curve(3.5, 100)}, {4500 * ms, 49, 0, 0, curve(4, 100)}, {5000 * ms, 49, 0, 0, 100}, {5500 * ms, 49, 0, 0, 100},
		}, false},
		{"a second cut on the way back aims lower", 100, []answers{
			{0, 20, 5, 0, 70}, {500*ms - 1, 20, 5, 0, 70}, {500 * ms, 20, 5, 0, 49}, {1000 * ms, 20, 0, 0, curve(0.5, 70)},
			{1500 * ms, 20, 0, 0, curve(1, 70)},
		}, false},
		{"cuts end at a fiftieth of the ceiling", 100, []answers{
			{0, 5, 5, 0, 70}, {1 * time.Second, 5, 5, 0, 49}, {2 * time.Second, 5, 5, 0, 34.3}, {3 * time.Second, 5, 5, 0, 24.01},
			{4 * time.Second, 5, 5, 0, 16.807},
			{5 * time.Second, 5, 5, 0, 11.7649}, {6 * time.Second, 5, 5, 0, 8.23543}, {7 * time.Second, 5, 5, 0, 5.764801},
			{8 * time.Second, 5, 5, 0, 4.0353607},
			{9 * time.Second, 5, 5, 0, 2.82475249}, {10 * time.Second, 5, 5, 0, 2}, {11 * time.Second, 5, 5, 0, 2},
		}, false},
		{"after a silence only one step", 100, []answers{
			{0, 20, 5, 0, 70}, {500 * ms, 0, 0, 0, 70}, {10 * time.Second, 700, 0, 0, curve(0.5, 100)},
			{10*time.Second + 500*ms - 1, 40, 0, 0, curve(0.5, 100)},
			{10*time.Second + 500*ms, 0, 0, 0, curve(1, 100)},
		}, false},
		{"used for half of the time", 100, []answers{
			{0, 20, 5, 0, 70}, {500 * ms, 0, 0, 0, 70}, {700 * ms, 1, 0, 150 * ms, 70}, {1000 * ms, 0, 0, 100 * ms, curve(0.5, 100)},
		}, false},
		{"used for less than half of the time", 100, []answers{
			{0, 20, 5, 0, 70}, {500 * ms, 0, 0, 0, 70}, {700 * ms, 1, 0, 150 * ms, 70}, {1000 * ms, 0, 0, 100*ms + 1, 70},
		}, false},
		{"no answers are no use", 100, []answers{{0, 20, 5, 0, 70}, {500 * ms, 0, 0, 0, 70}, {1000 * ms, 0, 0, 0, 70}}, false},
		{"used for half of the rate", 100, []answers{
			{0, 20, 5, 0, 70}, {500 * ms, 0, 0, 0, 70}, {700 * ms, 9, 0, 200 * ms, 70}, {1000 * ms, 9, 0, 300 * ms, curve(0.5, 100)},
		}, false},
		{"used for less than half of the rate", 100, []answers{
			{0, 20, 5, 0, 70}, {500 * ms, 0, 0, 0, 70}, {700 * ms, 9, 0, 200 * ms, 70}, {1000 * ms, 8, 0, 300 * ms, 70},
		}, false},
		{"nine of ten refused, twice", 100, []answers{{0, 1, 9, 0, 70}, {500 * ms, 1, 9, 0, 49}, {1000 * ms, 0, 0, 0, 49},
			{1500 * ms, 1, 9, 0, 1}}, true},
		{"nine of ten refused, once", 100, []answers{{0, 1, 9, 0, 70}, {500 * ms, 0, 0, 0, 70}, {1000 * ms, 0, 0, 0, 70}}, false},
		{"a better half second between", 100, []answers{
			{0, 1, 9, 0, 70}, {500 * ms, 0, 0, 0, 70}, {1000 * ms, 1, 0, 500 * ms, 70}, {1500 * ms, 0, 9, 0, 49}, {2000 * ms, 0, 0, 0, 49},
		}, false},
		{"eight of nine refused, again and again", 100, []answers{
			{0, 1, 8, 0, 70}, {600 * ms, 1, 8, 0, 49}, {1200 * ms, 1, 8, 0, 34.3}, {1800 * ms, 1, 8, 0, 24.01}, {2400 * ms, 1, 8, 0, 16.807},
		}, false},
		{"an accepted probe restarts at a tenth, on the steep half", 80, []answers{
			{0, 0, 9, 0, 56}, {500 * ms, 0, 9, 0, 39.2}, {1000 * ms, 0, 9, 0, 1}, {1100 * ms, 0, 5, 0, 1}, {1200 * ms, 1, 0, 0, 8},
			{1700*ms - 1, 2, 0, 500 * ms, 8}, {1700 * ms, 0, 0, 0, 8.05}, {2200 * ms, 3, 0, 0, 8.4}, {2700 * ms, 3, 0, 0, 9.35},
		}, false},
		{"a quarter of a second of 8 is two", 80, []answers{
			{0, 0, 9, 0, 56}, {500 * ms, 0, 9, 0, 39.2}, {1000 * ms, 0, 9, 0, 1}, {1200 * ms, 1, 0, 400 * ms, 8}, {1700 * ms, 1, 0, 500 * ms, 8},
			{2200 * ms, 2, 0, 500 * ms, 8.05},
		}, false},
		{"a slow number restarts at one a second", 5,
			[]answers{{0, 0, 9, 0, 3.5}, {500 * ms, 0, 9, 0, 2.45}, {1000 * ms, 0, 9, 0, 1}, {1500 * ms, 1, 0, 0, 1}}, false},
		{"a very slow number is probed at its pace", 0.5,
			[]answers{{0, 0, 9, 0, 0.35}, {500 * ms, 0, 9, 0, 0.245}, {1000 * ms, 0, 9, 0, 0.5}, {1500 * ms, 1, 0, 0, 0.5}}, false},
		{"two in a thousand are too many", 1000, []answers{{0, 400, 1, 0, 1000}, {100 * ms, 99, 1, 0, 700}}, false},
		{"one in a thousand is noise", 1000, []answers{{0, 400, 2, 0, 700}, {500 * ms, 400, 0, 0, 700},
			{1000 * ms, 400, 1, 0, curve(0.5, 1000)}}, false},
		{"one of 500 a second is none", 500, []answers{{0, 400, 1, 0, 350}}, false},
	} {
		began := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		n := throttle.NewCubic(c.ceiling)
		for _, a := range c.seen {
			n.Observe(began.Add(a.at), a.accepted, a.throttled, a.idle)
			if got := n.Rate(); math.Abs(got-a.rate) > 1e-6 || math.Abs(n.Multiplier()-a.rate/c.ceiling) > 1e-6 {
				t.Errorf("%s: after %v got %v per second, multiplier %v; want %v, %v", c.name, a.at, got, n.Multiplier(), a.rate, a.rate/c.ceiling)
			}
		}
		if n.Probing() != c.probing {
			t.Errorf("%s: probing %v, want %v", c.name, n.Probing(), c.probing)
		}
	}
}

// A new ceiling keeps the multiplier, and scales the peak that the rate grows back to.
func TestCubicAimsAtThePeakOfItsCeiling(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := throttle.NewCubic(100)
	c.Observe(now, 20, 5, 0)
	c.SetCeiling(200)
	c.Observe(now.Add(500*time.Millisecond), 0, 0, 0)
	for i, want := range []float64{curve(0.5, 200), curve(1, 200)} {
		c.Observe(now.Add(time.Duration(i+2)*500*time.Millisecond), 100, 0, 0)
		if got := c.Rate(); math.Abs(got-want) > 1e-6 {
			t.Errorf("step %d: got %v per second, want %v", i+1, got, want)
		}
	}
}
