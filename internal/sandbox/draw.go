package sandbox

import (
	"math"
	"time"
)

// purpose separates the draws of one message from each other.
type purpose uint64

// Draws that are not faults; those of a fault use its number.
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
	drawTrace
	drawRefusal // + platform code
)

// mix hashes its arguments to 64 well-spread bits (the finaliser of splitmix64 over a
// running sum). A draw depends on the seed and on what it is about alone, never on the
// order of goroutines (reliability.md 4.2).
func mix(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h += p + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// unit is h as a number in [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// normal is h as a draw of the standard normal distribution (Box-Muller).
func normal(h uint64) float64 {
	u := 1 - unit(h) // (0, 1]
	v := unit(mix(h, 0x6e6f726d))
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// Delay is a fixed or a log-normal time. In YAML: `80ms`, or
// `{median: 80ms, sigma: 0.5, max: 5s}`.
type Delay struct {
	Median time.Duration `yaml:"median"`
	Sigma  float64       `yaml:"sigma"` // of the logarithm; 0: always Median
	Max    time.Duration `yaml:"max"`   // 0: 20 times Median
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

// draw is the delay that h stands for.
func (d Delay) draw(h uint64) time.Duration {
	if d.Sigma == 0 || d.Median == 0 {
		return d.Median
	}
	most := d.Max
	if most == 0 {
		most = 20 * d.Median
	}
	return min(time.Duration(float64(d.Median)*math.Exp(d.Sigma*normal(h))), most)
}

// or gives the default when nothing was set.
func (d Delay) or(def Delay) Delay {
	if d == (Delay{}) {
		return def
	}
	return d
}
