package throttle

import (
	"math"
	"time"
)

// The constants of the adaptive multiplier, as in the AWS SDK's adaptive retry
// (throttle.md 7; measured there against AIMD and SRE throttling).
const (
	cubicBeta       = 0.7                    // what a cut leaves of the rate
	cubicScale      = 0.4                    // C: messages per second per cubed second
	multiplierFloor = 0.02                   // the multiplier's least value, but for the probe
	cubicStep       = 500 * time.Millisecond // one cut at most, and the unit of observation
	probeRefused    = 0.9                    // this part of two steps refused: only probe
	probeRate       = 1.0                    // messages per second while probing
	probeExit       = 0.1                    // where the rate restarts when a probe is accepted, x ceiling
	growUsed        = 0.5                    // grow only when this part of the rate was used, or of the time
	noiseRate       = 500.0                  // from this ceiling on,
	noiseThrottled  = 0.002                  // throttles below this part of a second mean nothing
)

// Cubic adapts a number's rate to the service's throttling answers. It never exceeds the
// ceiling, which is the number's pace; it cuts to 0.7 when throttled, grows back along a
// cubic curve around the rate where it was cut (flat near it, steep far from it), and
// when nearly all is refused it probes with one message a second until one is accepted.
//
// It is a plain value driven by the caller's clock: not safe for concurrent use. The zero
// value is not usable: see NewCubic.
type Cubic struct {
	ceiling float64 // messages per second
	rate    float64
	peak    float64       // the rate before the last cut
	grown   time.Duration // on the curve since the last cut; stands still while the rate is not used
	cutAt   time.Time
	probing bool
	refused int // consecutive steps of which nearly all was refused

	step      time.Time // when the step under observation began
	accepted  int
	throttled int
	idle      time.Duration // of it
}

// NewCubic starts at the ceiling, in messages per second (> 0).
func NewCubic(ceiling float64) *Cubic {
	return &Cubic{ceiling: ceiling, rate: ceiling, peak: ceiling}
}

// SetCeiling follows a change of the number's pace. The part of it that is in use stays.
func (c *Cubic) SetCeiling(ceiling float64) {
	if ceiling == c.ceiling {
		return
	}
	part := ceiling / c.ceiling
	c.ceiling, c.rate, c.peak = ceiling, c.rate*part, c.peak*part
}

// Rate is the rate to send at now, in messages per second.
func (c *Cubic) Rate() float64 {
	if c.probing {
		return math.Min(probeRate, c.ceiling)
	}
	return c.rate
}

// Multiplier is Rate as a part of the ceiling.
func (c *Cubic) Multiplier() float64 { return c.Rate() / c.ceiling }

// Probing reports whether nearly everything was refused and the service is only probed.
func (c *Cubic) Probing() bool { return c.probing }

// Observe counts answers that arrived since the last call: accepted is whatever was not
// throttled. idle is how much of the time since then the caller had nothing to send: who waits for slots all the
// time uses the rate, also where other processes get most of them. Call it a few times a second, also with zeros;
// now must not go back.
func (c *Cubic) Observe(now time.Time, accepted, throttled int, idle time.Duration) {
	if c.step.IsZero() {
		c.step = now
	}
	c.accepted += accepted
	c.throttled += throttled
	c.idle += idle
	if c.probing {
		if accepted > 0 {
			c.resume(now)
		}
		return
	}
	if throttled > 0 && !c.noise() && now.Sub(c.cutAt) >= cubicStep {
		c.cut(now)
	}
	for now.Sub(c.step) >= cubicStep {
		c.endStep(now)
	}
}

// cut lowers the rate to 0.7 of what it was. A second cut on the way back up is taken as
// the limit having fallen further, so the curve aims at the newer, lower peak.
func (c *Cubic) cut(now time.Time) {
	c.peak = c.rate
	c.rate = math.Max(c.rate*cubicBeta, multiplierFloor*c.ceiling)
	c.cutAt, c.grown = now, 0
}

// resume ends a probe: the service accepts again, at a rate that is not known.
func (c *Cubic) resume(now time.Time) {
	c.probing, c.refused = false, 0
	c.rate = math.Max(probeExit*c.ceiling, math.Min(probeRate, c.ceiling))
	c.peak = c.rate
	c.cutAt = now
	// At its turning point the curve is flat; what follows is its steep half.
	c.grown = c.turn()
	c.step, c.accepted, c.throttled, c.idle = now, 0, 0, 0
}

// endStep judges one half second: nearly all refused, or used enough to grow.
func (c *Cubic) endStep(now time.Time) {
	answers := float64(c.accepted + c.throttled)
	if c.throttled > 0 && float64(c.throttled) >= probeRefused*answers {
		c.refused++
	} else if answers > 0 {
		c.refused = 0
	}
	if c.refused >= 2 {
		c.probing = true
	}
	clear := c.throttled == 0 || c.noise()
	used := answers >= growUsed*c.rate*cubicStep.Seconds() || answers > 0 && c.idle.Seconds() <= (1-growUsed)*cubicStep.Seconds()
	if clear && used && now.Sub(c.cutAt) >= cubicStep {
		c.grow()
	}
	c.step = c.step.Add(cubicStep)
	if now.Sub(c.step) >= cubicStep { // nobody called for long: nothing was observed since
		c.step = now
	}
	c.accepted, c.throttled, c.idle = 0, 0, 0
}

// grow moves one step along the curve: rate(t) = C (t - K)^3 + peak, t since the cut.
func (c *Cubic) grow() {
	c.grown += cubicStep
	x := (c.grown - c.turn()).Seconds()
	c.rate = math.Min(c.ceiling, math.Max(c.rate, cubicScale*x*x*x+c.peak))
}

// turn is K, the time from a cut to the curve's turning point at the peak.
func (c *Cubic) turn() time.Duration {
	return time.Duration(math.Cbrt(c.peak*(1-cubicBeta)/cubicScale) * float64(time.Second))
}

// noise: a busy number sees a stray throttling answer without being too fast.
func (c *Cubic) noise() bool {
	return c.ceiling >= noiseRate && float64(c.throttled) < noiseThrottled*c.ceiling
}
