package throttle

import (
	"math"
	"time"
)

// The constants of the adaptive multiplier. cubicBeta and cubicScale are those of the AWS SDK's
// adaptive retry (docs/limits.md#slowing-down).
const (
	cubicBeta       = 0.7                    // a cut multiplies the rate by this
	cubicScale      = 0.4                    // C: messages per second per cubed second
	multiplierFloor = 0.02                   // least value of the multiplier; a probe may be slower
	cubicStep       = 500 * time.Millisecond // answers are counted in steps of this; at most one cut in each
	probeRefused    = 0.9                    // two steps with this part refused start probing
	probeRate       = 1.0                    // messages per second while probing
	probeExit       = 0.1                    // part of the ceiling at which the rate restarts after an accepted probe
	growUsed        = 0.5                    // the rate grows only when this part of it, or of the time, was used
	noiseRate       = 500.0                  // from this ceiling on, a few throttling answers are noise:
	noiseThrottled  = 0.002                  // fewer in a step than this part of the ceiling
)

// Cubic adapts a number's rate to the service's throttling answers. The rate never exceeds the
// ceiling, which is the number's pace. A throttling answer cuts the rate to 0.7. The rate then
// grows back along a cubic curve: slowly near the rate where it was cut, fast far from it. When
// nearly all messages are refused, it probes with one message a second until one is accepted.
//
// It is a plain value driven by the caller's clock: not safe for concurrent use. The zero
// value is not usable: see NewCubic.
type Cubic struct {
	ceiling float64 // messages per second
	rate    float64
	peak    float64       // the rate before the last cut
	grown   time.Duration // time on the curve since the last cut; counts only steps that used the rate
	cutAt   time.Time
	probing bool
	refused int // consecutive steps in which nearly all messages were refused

	step      time.Time // when the step under observation began
	accepted  int
	throttled int
	idle      time.Duration // part of the step in which the caller had nothing to send
}

// NewCubic starts at the ceiling, in messages per second (> 0).
func NewCubic(ceiling float64) *Cubic {
	return &Cubic{ceiling: ceiling, rate: ceiling, peak: ceiling}
}

// SetCeiling follows a change of the number's pace. The multiplier stays the same.
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

// Probing reports whether nearly everything was refused and only probes are sent now.
func (c *Cubic) Probing() bool { return c.probing }

// Observe counts the answers that arrived since the last call. accepted counts every answer that
// was not throttling. idle is how long the caller had nothing to send since the last call; a
// caller that waits for slots is not idle, even when other processes get most of them. Call
// Observe a few times a second, also with zeros. now must not go back.
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

// cut lowers the rate to 0.7 of what it was. A second cut during recovery means that the limit
// fell further, so the curve then aims at the newer, lower peak.
func (c *Cubic) cut(now time.Time) {
	c.peak = c.rate
	c.rate = math.Max(c.rate*cubicBeta, multiplierFloor*c.ceiling)
	c.cutAt, c.grown = now, 0
}

// resume ends a probe: the service accepts messages again, at a rate that is not known yet.
func (c *Cubic) resume(now time.Time) {
	c.probing, c.refused = false, 0
	c.rate = math.Max(probeExit*c.ceiling, math.Min(probeRate, c.ceiling))
	c.peak = c.rate
	c.cutAt = now
	// The curve is flat at its turning point, so growth starts on the steep half after it.
	c.grown = c.turn()
	c.step, c.accepted, c.throttled, c.idle = now, 0, 0, 0
}

// endStep evaluates one half second: was nearly all refused, and was enough used to grow?
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
	busy := c.idle.Seconds() <= (1-growUsed)*cubicStep.Seconds()
	used := answers >= growUsed*c.rate*cubicStep.Seconds() || answers > 0 && busy
	if clear && used && now.Sub(c.cutAt) >= cubicStep {
		c.grow()
	}
	c.step = c.step.Add(cubicStep)
	if now.Sub(c.step) >= cubicStep { // no call for more than a step: start again at now
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

// noise reports whether so few answers throttle that they prove nothing: a busy number sees a
// stray one without being too fast.
func (c *Cubic) noise() bool {
	return c.ceiling >= noiseRate && float64(c.throttled) < noiseThrottled*c.ceiling
}
