package throttle

import "math"

// The constants of the adaptive multiplier (docs/limits.md#slowing-down). cubicBeta and cubicScale
// come from the AWS SDK's adaptive retry. cubic.lua has the same.
const (
	cubicBeta       = 0.7     // a cut multiplies the rate by this
	cubicNearBeta   = 0.85    // a cut at about the rate of the cut before: the limit is known
	cubicNear       = 0.12    // by how much the rates of two such cuts may differ
	cubicScale      = 0.4     // C: messages per second per cubed second
	cubicLeastScale = 0.01    // C is at most this part of the peak, so that small limits are not overrun
	multiplierFloor = 0.02    // least value of the multiplier; a probe may be slower
	cubicStep       = 500_000 // microseconds; growth and probing are decided once in each step
	growUsed        = 0.5     // the rate grows only when this part of it was used
	cooldown        = 1e6     // microseconds after a cut in which the service still counts what came before it
	earlyThrottled  = 3       // a second cut during the cool-down: this many throttled
	earlyPart       = 0.3     // and this part of the answers
	probeRefused    = 0.9     // two steps with this part refused start probing
	probeRate       = 1.0     // messages per second while probing
	probeExit       = 0.1     // part of the ceiling at which the rate restarts after an accepted probe
)

// The constants that tell congestion from throttling that a lower rate does not cure.
const (
	lowRate     = 0.95  // below this part of the last cut's rate, congestion would have ended
	noiseLeast  = 2     // as many throttled at such rates are needed
	noiseMost   = 0.12  // a greater part of the answers throttled is never noise
	noiseFall   = 0.33  // the part throttled at low rates is noise if it is this much of the part at high ones
	slowNumber  = 40.0  // messages per second; below this ceiling these two are stricter:
	slowMost    = 0.05  // a sliding second of a small limit has few messages, and near it some are throttled at
	slowFall    = 0.5   // low rates, too
	noiseMargin = 2     // times the part that is noise is let pass
	noiseExcess = 4     // throttled answers beyond that make a cut
	busyRate    = 500.0 // messages per second; from this ceiling on a stray throttling answer is let pass
	busyMargin  = 0.002 // this part of the answers
	busyExcess  = 2     // throttled answers beyond that make a cut
	lowMemory   = 1000  // answers at low rates, from which on the older count half
	highMemory  = 500   // and at high rates
)

// cubic adapts the rate of a key to how the service answers all that send at it. Rates are parts of
// the ceiling, the rate that Lease is asked for, so a new ceiling needs no conversion. A throttling
// answer cuts the rate, which then grows back along a cubic curve: slowly near the rate where it
// was cut, fast far from it. When nearly all messages are refused, one a second is sent until one
// is accepted. Throttling that goes on at a lower rate is noise, and is let pass.
//
// Local runs it; cubic.lua is the same arithmetic for Redis, and a test drives both. It is a plain
// value driven by the caller's clock in microseconds, which must not go back.
type cubic struct {
	part  float64 // the multiplier while not probing
	base  float64 // the multiplier after the last cut
	peak  float64 // the multiplier before the last cut
	grown float64 // seconds on the curve since the last cut; counts only steps that used the rate

	stage   float64 // begins with a cut, at the end of its cool-down, and with a probe; 0: never cut
	cooled  bool    // the cool-down is over: the service counts only what was sent after the last cut
	probing bool
	refused float64 // consecutive steps in which nearly all messages were refused

	step      float64 // when the step under observation began
	answered  float64 // answers in the step
	throttled float64 // of those, throttled
	used      float64 // answers in the step to messages of this stage

	early, earlyThrottled float64 // answers to messages sent since the cut, during the cool-down
	excess                float64 // throttled answers beyond what is let pass
	low, lowThrottled     float64 // answers to messages sent below lowRate of the peak
	high, highThrottled   float64 // answers to messages sent above it, up to the cut
}

// newCubic starts at part of the ceiling: 1, or where a state that was lost had been.
func newCubic(now, part float64) *cubic {
	c := &cubic{part: 1, base: 1, peak: 1, step: now, cooled: true}
	if part < 1 {
		c.restart(now, math.Max(part, multiplierFloor))
	}
	return c
}

// multiplier is the part of the ceiling to send at.
func (c *cubic) multiplier(ceiling float64) float64 {
	if c.probing {
		return math.Min(probeRate/ceiling, 1)
	}
	return c.part
}

// observe takes the answers since the last call. ceiling is in messages per second.
func (c *cubic) observe(now, ceiling float64, a answers) {
	a.turnTo(c.stage)
	c.answered += a.accepted + a.throttled + a.lateAccepted + a.lateThrottled
	c.throttled += a.throttled + a.lateThrottled
	if c.probing {
		if a.accepted > 0 {
			c.restart(now, math.Max(probeExit, math.Min(probeRate/ceiling, 1)))
		}
		return
	}
	if c.cooled {
		c.used += a.accepted + a.throttled
		c.decide(now, ceiling, a)
	} else {
		c.coolDown(now, a)
	}
	if now-c.step >= cubicStep {
		c.endStep(now, ceiling)
	}
}

// coolDown takes the answers of the second after a cut. Most throttling in it is still due to the
// old rate. The rate is cut again only if much of the new messages is throttled.
func (c *cubic) coolDown(now float64, a answers) {
	c.count(&c.high, &c.highThrottled, highMemory, a.lateAccepted+a.lateThrottled, a.lateThrottled)
	c.early += a.accepted + a.throttled
	c.earlyThrottled += a.throttled
	switch {
	case c.earlyThrottled >= earlyThrottled && c.earlyThrottled >= earlyPart*c.early:
		c.cut(now)
	case now-c.stage >= cooldown:
		c.cooled, c.stage = true, now
	}
}

// decide cuts when more answers throttle than noise explains.
func (c *cubic) decide(now, ceiling float64, a answers) {
	n := a.accepted + a.throttled
	if c.part < lowRate*c.peak {
		c.count(&c.low, &c.lowThrottled, lowMemory, n, a.throttled)
	} else {
		c.count(&c.high, &c.highThrottled, highMemory, n, a.throttled)
	}
	pass, most := 0.0, 1.0
	if ceiling >= busyRate {
		pass, most = busyMargin, busyExcess
	}
	if c.noise(ceiling) {
		pass, most = math.Max(pass, noiseMargin*c.lowThrottled/c.low), noiseExcess
	}
	c.excess = math.Max(0, c.excess+a.throttled-pass*n)
	if a.throttled > 0 && c.excess >= most {
		c.cut(now)
	}
}

// noise reports whether throttling went on at a lower rate. The first throttled answer at a high
// rate does not count, since it made the cut.
func (c *cubic) noise(ceiling float64) bool {
	most, fall := noiseMost, noiseFall
	if ceiling < slowNumber {
		most, fall = slowMost, slowFall
	}
	return c.lowThrottled >= noiseLeast && c.lowThrottled <= most*c.low &&
		c.lowThrottled*c.high >= fall*(c.highThrottled-1)*c.low
}

// count adds n answers, t of them throttled. When there are more than memory, all count half.
func (*cubic) count(answered, throttled *float64, memory, n, t float64) {
	*answered += n
	*throttled += t
	if *answered > memory {
		*answered /= 2
		*throttled /= 2
	}
}

// cut lowers the rate. The curve then aims at the rate where it was cut.
func (c *cubic) cut(now float64) {
	beta := cubicBeta
	if c.cooled && c.stage != 0 && math.Abs(c.part-c.peak) < cubicNear*c.peak {
		beta = cubicNearBeta
	}
	c.peak = c.part
	c.part = math.Max(c.part*beta, multiplierFloor)
	c.base, c.grown, c.excess, c.used = c.part, 0, 0, 0
	c.stage, c.cooled, c.early, c.earlyThrottled = now, false, 0, 0
}

// restart sends at a rate about which nothing is known: the curve starts at its peak and grows ever
// faster.
func (c *cubic) restart(now, part float64) {
	c.part, c.base, c.peak, c.grown, c.excess = part, part, part, 0, 0
	c.stage, c.cooled, c.probing, c.refused = now, true, false, 0
	c.step, c.answered, c.throttled, c.used = now, 0, 0, 0
}

// endStep ends a step of half a second. It starts probing if nearly all messages of two steps in a
// row were refused, and else grows the rate if enough of it was used.
func (c *cubic) endStep(now, ceiling float64) {
	if c.throttled > 0 && c.throttled >= probeRefused*c.answered {
		c.refused++
	} else if c.answered > 0 {
		c.refused = 0
	}
	if c.refused >= 2 {
		c.probing, c.stage = true, now
	} else if c.used > 0 && c.used >= growUsed*c.part*ceiling*(cubicStep/1e6) {
		c.grow(ceiling)
	}
	c.step += cubicStep
	if now-c.step >= cubicStep { // no call for more than a step: start again at now
		c.step = now
	}
	c.answered, c.throttled, c.used = 0, 0, 0
}

// grow moves one step along the curve: rate(t) = C (t - K)^3 + peak, where K is the time to the
// turning point at the peak. A slow number has less than one answer in a step.
func (c *cubic) grow(ceiling float64) {
	scale := math.Min(cubicScale/ceiling, cubicLeastScale*c.peak)
	c.grown += math.Max(cubicStep/1e6, 1/(c.part*ceiling))
	x := c.grown - math.Cbrt((c.peak-c.base)/scale)
	c.part = math.Min(1, math.Max(c.part, c.peak+scale*x*x*x))
}
