package throttle

import (
	"math"
	"testing"
	"time"
)

// curve is RFC 9438, section 4.2, for a peak and a rate after the cut, in messages per second. x is
// the time since growth began, in seconds.
func curve(x, peak, base float64) float64 {
	c := math.Min(0.4, 0.01*peak)
	return c*math.Pow(x-math.Cbrt((peak-base)/c), 3) + peak
}

// heard is one call of observe and the rate after it.
type heard struct {
	at                      time.Duration // since the first call
	accepted, throttled     float64       // answers to messages of the present stage
	lateAccepted, lateThrot float64       // answers to earlier ones
	rate                    float64       // messages per second
}

// The rate after each answer, at, just below and just above each edge. The number before the half
// seconds of growth is how many answers half of the rate is.
func TestCubicIsExactAtEveryEdge(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		name    string
		ceiling float64
		seen    []heard
		probing bool // at the end
	}{
		{"a cut, a second of cool-down, and the way back", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {500 * ms, 35, 0, 0, 0, 70}, {1000 * ms, 35, 0, 0, 0, 70}, {1500 * ms, 35, 0, 0, 0, curve(0.5, 100, 70)},
			{2000 * ms, 40, 0, 0, 0, curve(1, 100, 70)}, {2500 * ms, 44, 0, 0, 0, curve(1.5, 100, 70)}, {3000 * ms, 46, 0, 0, 0, curve(2, 100, 70)},
			{3500 * ms, 48, 0, 0, 0, curve(2.5, 100, 70)}, {4000 * ms, 49, 0, 0, 0, curve(3, 100, 70)},
			{4500 * ms, 49, 0, 0, 0, curve(3.5, 100, 70)},
			{5000 * ms, 49, 0, 0, 0, curve(4, 100, 70)}, {5500 * ms, 49, 0, 0, 0, 100}, {6000 * ms, 49, 0, 0, 0, 100},
		}, false},
		{"throttled before the cut, heard after it", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {500 * ms, 0, 0, 20, 5, 70}, {999 * ms, 0, 0, 20, 5, 70}, {1000 * ms, 0, 0, 0, 5, 70}, {2000 * ms, 0, 0, 0, 5, 70},
		}, false},
		{"few throttled in the cool-down", 100, []heard{{0, 20, 1, 0, 0, 70}, {300 * ms, 0, 2, 0, 0, 70}, {900 * ms, 10, 2, 0, 0, 70}}, false},
		{"many throttled in the cool-down", 100, []heard{{0, 20, 1, 0, 0, 70}, {300 * ms, 3, 2, 0, 0, 70}, {900 * ms, 4, 1, 0, 0, 49}}, false},
		{"a limit that is known is cut to 0.85", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {1 * s, 20, 0, 0, 0, 70}, {1500 * ms, 20, 0, 0, 0, curve(0.5, 100, 70)}, {2 * s, 40, 0, 0, 0, curve(1, 100, 70)},
			{2500 * ms, 44, 0, 0, 0, curve(1.5, 100, 70)}, {2600 * ms, 5, 1, 0, 0, curve(1.5, 100, 70) * 0.85},
		}, false},
		{"at a rate that is far from the last cut's to 0.7", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {1 * s, 20, 0, 0, 0, 70}, {1500 * ms, 20, 0, 0, 0, curve(0.5, 100, 70)},
			{1600 * ms, 5, 1, 0, 0, curve(0.5, 100, 70) * 0.7},
		}, false},
		{"cuts end at a fiftieth of the ceiling", 100, []heard{
			{0, 1, 1, 0, 0, 70}, {1 * s, 6, 3, 0, 0, 49}, {2 * s, 6, 3, 0, 0, 34.3}, {3 * s, 6, 3, 0, 0, 24.01},
			{4 * s, 6, 3, 0, 0, 16.807}, {5 * s, 6, 3, 0, 0, 11.7649}, {6 * s, 6, 3, 0, 0, 8.23543}, {7 * s, 6, 3, 0, 0, 5.764801},
			{8 * s, 6, 3, 0, 0, 4.0353607}, {9 * s, 6, 3, 0, 0, 2.82475249}, {10 * s, 6, 3, 0, 0, 2}, {11 * s, 6, 3, 0, 0, 2},
		}, false},
		{"after a silence only one step", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {1 * s, 0, 0, 0, 0, 70}, {10 * s, 700, 0, 0, 0, curve(0.5, 100, 70)},
			{10*s + 500*ms - 1*time.Microsecond, 40, 0, 0, 0, curve(0.5, 100, 70)}, {10*s + 500*ms, 0, 0, 0, 0, curve(1, 100, 70)},
		}, false},
		{"used for half of the rate", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {1 * s, 0, 0, 0, 0, 70}, {1200 * ms, 9, 0, 0, 0, 70}, {1500 * ms, 9, 0, 0, 0, curve(0.5, 100, 70)},
		}, false},
		{"used for less than half of the rate", 100, []heard{
			{0, 20, 1, 0, 0, 70}, {1 * s, 0, 0, 0, 0, 70}, {1200 * ms, 9, 0, 0, 0, 70}, {1500 * ms, 8, 0, 99, 0, 70},
		}, false},
		{"no answers are no use", 100, []heard{{0, 20, 1, 0, 0, 70}, {1 * s, 0, 0, 0, 0, 70}, {1500 * ms, 0, 0, 0, 0, 70}}, false},
		{"nine of ten refused, twice", 100, []heard{{0, 1, 9, 0, 0, 70}, {500 * ms, 0, 0, 0, 0, 70}, {1 * s, 0, 0, 1, 9, 1}}, true},
		{"nine of ten refused, once", 100, []heard{{0, 1, 9, 0, 0, 70}, {500 * ms, 0, 0, 0, 0, 70}, {1 * s, 0, 0, 0, 0, 70}}, false},
		{"a better half second between", 100, []heard{
			{0, 1, 9, 0, 0, 70}, {500 * ms, 0, 0, 0, 0, 70}, {1 * s, 1, 0, 0, 0, 70}, {1500 * ms, 0, 0, 0, 9, 70}, {2 * s, 0, 0, 0, 0, 70},
		}, false},
		{"eight of nine refused, again and again", 100, []heard{
			{0, 1, 8, 0, 0, 70}, {600 * ms, 0, 0, 1, 8, 70}, {1200 * ms, 0, 0, 1, 8, 70}, {1800 * ms, 0, 0, 1, 8, 70},
		}, false},
		{"an accepted probe restarts at a tenth, on the steep half", 80, []heard{
			{0, 0, 9, 0, 0, 56}, {500 * ms, 0, 0, 0, 9, 56}, {1 * s, 0, 0, 0, 9, 1}, {1100 * ms, 0, 0, 5, 0, 1}, {1150 * ms, 0, 5, 0, 0, 1},
			{1200 * ms, 1, 0, 0, 0, 8}, {1700*ms - 1*time.Microsecond, 2, 0, 0, 0, 8}, {1700 * ms, 0, 0, 0, 0, curve(0.5, 8, 8)},
			{2200 * ms, 3, 0, 0, 0, curve(1, 8, 8)},
		}, false},
		{"a slow number restarts at one a second, and grows by its answers", 5, []heard{{0, 0, 9, 0, 0, 3.5}, {500 * ms, 0, 0, 0, 9, 3.5},
			{1 * s, 0, 0, 0, 9, 1}, {1500 * ms, 1, 0, 0, 0, 1}, {2 * s, 0, 0, 0, 0, 1}, {2500 * ms, 1, 0, 0, 0, curve(1, 1, 1)}}, false},
		{"a very slow number is probed at its pace", 0.5, []heard{{0, 0, 9, 0, 0, 0.35}, {500 * ms, 0, 0, 0, 9, 0.35}, {1 * s, 0, 0, 0, 9, 0.5},
			{1500 * ms, 1, 0, 0, 0, 0.5}}, false},
		{"two in a thousand are too many", 1000, []heard{{0, 400, 1, 0, 0, 1000}, {100 * ms, 0, 2, 0, 0, 700}}, false},
		{"one in 500 is let pass", 1000, []heard{{0, 499, 1, 0, 0, 1000}, {500 * ms, 499, 1, 0, 0, 1000}, {1 * s, 499, 1, 0, 0, 1000}}, false},
		{"one of less than 500 a second is not", 499, []heard{{0, 400, 1, 0, 0, 349.3}}, false},
	} {
		n := newCubic(1e6, 1)
		for _, a := range c.seen {
			n.observe(1e6+float64(a.at.Microseconds()), c.ceiling, answers{n.stage, a.accepted, a.throttled, a.lateAccepted, a.lateThrot})
			if got := n.multiplier(c.ceiling) * c.ceiling; math.Abs(got-a.rate) > 1e-9*c.ceiling {
				t.Errorf("%s: after %v got %v per second, want %v", c.name, a.at, got, a.rate)
			}
		}
		if n.probing != c.probing {
			t.Errorf("%s: probing %v, want %v", c.name, n.probing, c.probing)
		}
	}
}

// Throttling at rates where congestion would have ended, and no rarer there, is noise.
func TestThrottlingThatALowerRateDoesNotCureIsNoise(t *testing.T) {
	for _, tt := range []struct {
		name                              string
		low, lowThrottled, high, throttle float64
		noise                             bool
	}{
		{"never throttled", 0, 0, 0, 0, false},
		{"one is chance", 100, 1, 100, 1, false},
		{"two are not", 100, 2, 100, 2, true},
		{"12 in a hundred", 100, 12, 100, 12, true},
		{"more than 12 in a hundred", 99, 12, 100, 12, false},
		{"a third of a smaller part", 100, 4, 100, 13, true},
		{"less than a third", 101, 4, 100, 14, false},
		{"none at high rates", 100, 2, 0, 0, true},
	} {
		c := cubic{low: tt.low, lowThrottled: tt.lowThrottled, high: tt.high, highThrottled: tt.throttle}
		if got := c.noise(slowNumber); got != tt.noise {
			t.Errorf("%s: noise %v, want %v", tt.name, got, tt.noise)
		}
	}
	// A slow number has the stricter bounds.
	for _, tt := range []struct {
		name                              string
		low, lowThrottled, high, throttle float64
		noise                             bool
	}{
		{"a twentieth", 100, 5, 100, 5, true},
		{"more than a twentieth", 99, 5, 100, 5, false},
		{"half as many as at high rates, less the first", 100, 2, 100, 5, true},
		{"fewer than half as many", 101, 2, 100, 5, false},
	} {
		c := cubic{low: tt.low, lowThrottled: tt.lowThrottled, high: tt.high, highThrottled: tt.throttle}
		if got := c.noise(slowNumber - 1); got != tt.noise {
			t.Errorf("%s, of a slow number: noise %v, want %v", tt.name, got, tt.noise)
		}
	}
}

// Twice the noise is let pass; four throttled answers beyond that cut.
func TestNoiseIsLetPassAndCongestionIsNot(t *testing.T) {
	noisy := func() *cubic {
		c := newCubic(1e6, 1)
		c.low, c.lowThrottled, c.high, c.highThrottled, c.stage = 400, 4, 400, 4, 7
		return c
	}
	now := 1e6
	c := noisy()
	for range 100 {
		now += 500_000
		c.observe(now, 80, answers{stage: 7, accepted: 49, throttled: 1})
	}
	if c.part != 1 {
		t.Errorf("one in fifty throttled, one in a hundred is noise: the multiplier is %v, want 1", c.part)
	}
	c = noisy()
	c.observe(now, 80, answers{stage: 7, throttled: 4})
	if c.part != 1 {
		t.Errorf("four throttled: the multiplier is %v, want 1: the share let pass is part of them", c.part)
	}
	c.observe(now, 80, answers{stage: 7, throttled: 1})
	if c.part != 0.85 {
		t.Errorf("five throttled: the multiplier is %v, want 0.85", c.part)
	}
}

// A state that was lost goes on where a caller had seen it, and never below the least multiplier.
func TestALostStateGoesOnWhereItWasSeen(t *testing.T) {
	for seen, want := range map[float64]float64{1: 1, 0.5: 0.5, 0.001: multiplierFloor} {
		if got := newCubic(1e6, seen).multiplier(80); got != want {
			t.Errorf("seen at %v: starts at %v, want %v", seen, got, want)
		}
	}
}

// Answers to messages of another stage are late, also when the stage begins while they are counted.
func TestAnswersOfAnotherStageAreLate(t *testing.T) {
	var a answers
	for _, n := range []struct {
		stage     int64
		throttled bool
	}{{0, true}, {0, false}, {0, false}, {5, true}} {
		a.note(n.stage, n.throttled)
	}
	if want := (answers{0, 2, 1, 0, 1}); a != want {
		t.Errorf("counted %+v, want %+v", a, want)
	}
	taken := a.take()
	a.note(0, true)
	a.turnTo(9)
	a.note(9, false)
	a.giveBack(taken)
	if want := (answers{9, 1, 0, 2, 3}); a != want {
		t.Errorf("given back in a new stage: %+v, want %+v", a, want)
	}
}
