package sandbox

import (
	"cmp"
	"math"
	"time"

	"campaignd/internal/sandbox/draw"
)

// purpose is a key of a draw. It makes the draws about one message independent of each other.
type purpose uint64

// The purposes of draws that are not faults. The draw of a fault uses the number of the fault.
const (
	drawOutcome purpose = 1000 + iota
	drawUnreachable
	drawSentDelay
	drawDeliveredDelay
	drawReadDelay
	drawFailedDelay
	drawFailedAfterSent
	drawUndelivered
	drawUnread
	drawSilent
	drawStop
	drawStopDelay
	drawLatency
	drawStatus
	drawLate
	drawDouble
	drawSlow
	drawEvent
	_             // unused; it keeps the values of the purposes below, so that a seed gives the same draws as before
	drawPage      // the index of the page is added
	drawFailLater // the platform code is added
	drawRefusal   // the platform code is added
	drawHistory
)

// normal turns h into a draw of the standard normal distribution, by the method of Box and Muller.
func normal(h uint64) float64 {
	u := 1 - draw.Unit(h) // (0, 1]
	v := draw.Unit(draw.Mix(h, 0x6e6f726d))
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// Delay is a fixed or a log-normal time. In YAML: `80ms`, or
// `{median: 80ms, sigma: 0.5, max: 5s}`.
type Delay struct {
	// Median is the median of the time.
	Median time.Duration `yaml:"median"`
	// Sigma is the standard deviation of the logarithm. With 0 the time is always Median.
	Sigma float64 `yaml:"sigma"`
	// Max is the longest time. Default 20 times Median.
	Max time.Duration `yaml:"max"`
}

// UnmarshalYAML reads a duration or the three fields.
func (d *Delay) UnmarshalYAML(unmarshal func(any) error) error {
	var fixed time.Duration
	if err := unmarshal(&fixed); err == nil {
		*d = Delay{Median: fixed}
		return nil
	}
	type plain Delay
	return unmarshal((*plain)(d))
}

// draw turns h into a delay.
func (d Delay) draw(h uint64) time.Duration {
	if d.Sigma == 0 || d.Median == 0 {
		return d.Median
	}
	most := cmp.Or(d.Max, 20*d.Median)
	return min(time.Duration(float64(d.Median)*math.Exp(d.Sigma*normal(h))), most)
}

// or returns d, or the default if d is zero.
func (d Delay) or(def Delay) Delay {
	if d == (Delay{}) {
		return def
	}
	return d
}
