package throttle_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"campaignd/throttle"
)

// controller is what the scene drives: it gives a rate and observes the answers.
type controller interface {
	Rate() float64
	Observe(now time.Time, accepted, throttled int, _ time.Duration)
}

// fixed sends at one rate whatever the answers.
type fixed float64

func (f fixed) Rate() float64                            { return float64(f) }
func (fixed) Observe(time.Time, int, int, time.Duration) {}

// pausing stops for a second on any throttle, then sends at the full rate.
type pausing struct {
	rate  float64
	now   time.Time
	until time.Time
}

func (p *pausing) Rate() float64 {
	if p.now.Before(p.until) {
		return 0
	}
	return p.rate
}

func (p *pausing) Observe(now time.Time, _, throttled int, _ time.Duration) {
	p.now = now
	if throttled > 0 && !now.Before(p.until) {
		p.until = now.Add(time.Second)
	}
}

// outcome is what a controller achieved in the scene.
type outcome struct {
	accepted     float64       // part of what was possible
	refused      float64       // part of the attempts
	brown, black int           // attempts refused during the brown-out and the black-out
	recovery     time.Duration // from the brown-out's end until a second has 90 % of the possible
	peak         float64       // highest rate asked for
}

// scene is the measurement of docs/limits.md#slowing-down: a number of 80 a second whose hidden
// limit is 80 less 5 to 15 inbound, 20 for two minutes and 0 for 20 seconds. Answers arrive
// 300 ms late. It lasts ten minutes.
func scene(c controller) outcome {
	const (
		tick  = 10 * time.Millisecond
		total = 10 * time.Minute
		late  = 300 * time.Millisecond
	)
	brown := [2]time.Duration{3 * time.Minute, 5 * time.Minute}
	black := [2]time.Duration{7 * time.Minute, 7*time.Minute + 20*time.Second}
	in := func(at time.Duration, span [2]time.Duration) bool { return at >= span[0] && at < span[1] }
	noise := rand.New(rand.NewPCG(80, 1))
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

	type answer struct {
		at                  time.Duration
		accepted, throttled int
	}
	var (
		o                 outcome
		pending           []answer
		credit            float64
		window            [time.Second / tick]float64 // the platform counts a sliding second
		counted           float64
		inbound           = 10.0
		possible          float64
		okays, refusals   int
		second            float64 // accepted in the current second, after the brown-out
		secondPossible    float64
		recovered         bool
		feedOK, feedThrot int
	)
	for at := time.Duration(0); at < total; at += tick {
		if at%time.Second == 0 {
			inbound = 5 + 10*noise.Float64()
			if !recovered && at > brown[1] && secondPossible > 0 && second >= 0.9*secondPossible {
				o.recovery, recovered = at-brown[1], true
			}
			second, secondPossible = 0, 0
		}
		limit := 80 - inbound
		if in(at, brown) {
			limit = 20
		}
		if in(at, black) {
			limit = 0
		}
		counted -= window[int(at/tick)%len(window)] // what was accepted a second ago
		window[int(at/tick)%len(window)] = 0
		possible += limit * tick.Seconds()
		secondPossible += limit * tick.Seconds()
		rate := c.Rate()
		o.peak = math.Max(o.peak, rate)
		credit = math.Min(credit+rate*tick.Seconds(), 1.999)
		for ; credit >= 1; credit-- {
			a := answer{at: at + late}
			if counted+1 <= limit {
				counted++
				window[int(at/tick)%len(window)]++
				a.accepted = 1
				okays++
				second++
			} else {
				a.throttled = 1
				refusals++
				if in(at, brown) {
					o.brown++
				}
				if in(at, black) {
					o.black++
				}
			}
			pending = append(pending, a)
		}
		for len(pending) > 0 && pending[0].at <= at {
			feedOK += pending[0].accepted
			feedThrot += pending[0].throttled
			pending = pending[1:]
		}
		if at%(200*time.Millisecond) == 0 {
			c.Observe(start.Add(at), feedOK, feedThrot, 0)
			feedOK, feedThrot = 0, 0
		}
	}
	o.accepted = float64(okays) / possible
	o.refused = float64(refusals) / float64(okays+refusals)
	return o
}

// The comparison of docs/limits.md#slowing-down. A fixed rate is refused a quarter. A pause of a
// second after each refusal loses a fifth or more. CUBIC with a ceiling below the limit keeps more
// than 85 % with under 3 % refused, and recovers within 10 seconds.
func TestCubicKeepsThroughputWithFewRefusals(t *testing.T) {
	nothing := scene(fixed(80))
	stop := scene(&pausing{rate: 80})
	full := scene(throttle.NewCubic(80))
	paced := scene(throttle.NewCubic(72))
	careful := scene(throttle.NewCubic(64))
	for _, r := range []struct {
		name string
		outcome
	}{{"none", nothing}, {"pause 1 s", stop}, {"cubic 100 %", full}, {"cubic 90 %", paced}, {"cubic 80 %", careful}} {
		t.Logf("%-12s accepted %5.1f %%, refused %4.1f %%, brown-out %4d, black-out %4d, recovery %v",
			r.name, 100*r.accepted, 100*r.refused, r.brown, r.black, r.recovery)
	}
	if nothing.refused < 0.2 {
		t.Fatalf("the scene is too kind: without a controller %.1f %% is refused, want 20 or more", 100*nothing.refused)
	}
	if paced.accepted < 0.85 || paced.refused > 0.03 {
		t.Errorf("90 %%: accepted %.1f %%, refused %.1f %%; want 85 or more, 3 or less", 100*paced.accepted, 100*paced.refused)
	}
	if careful.refused > paced.refused || paced.refused > full.refused {
		t.Errorf("refused at ceilings of 100, 90, 80 %%: %.2f, %.2f, %.2f %%, want fewer at the lower", 100*full.refused,
			100*paced.refused, 100*careful.refused)
	}
	if paced.accepted < stop.accepted {
		t.Errorf("cubic accepted %.1f %%, want as much as pausing, %.1f %%", 100*paced.accepted, 100*stop.accepted)
	}
	if paced.recovery == 0 || paced.recovery > 10*time.Second {
		t.Errorf("back to 90 %% after %v, want at most 10 s", paced.recovery)
	}
	if paced.black > 120 || paced.black == 0 {
		t.Errorf("%d refused in a black-out of 20 s, want 1 to 120", paced.black)
	}
	for _, o := range []struct{ got, ceiling float64 }{{full.peak, 80}, {paced.peak, 72}, {careful.peak, 64}} {
		if o.got > o.ceiling {
			t.Errorf("asked for %.2f per second, want at most the ceiling, %.0f", o.got, o.ceiling)
		}
	}
}
