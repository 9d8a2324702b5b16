package throttle

import (
	"fmt"
	"math"
	"strings"
)

// Limits of a number when nothing better is known (design section 6; throttle.md 2: the
// platform's throughput levels and its fixed limit of coexistence numbers).
const (
	StandardLimit    = 80
	HighLimit        = 1000
	CoexistenceLimit = 20
)

// The least part of a number's limit that is kept for inbound messages, which the platform
// counts together with ours. A coexistence number also sends from its owner's phone.
const (
	inboundReserve     = 0.05
	coexistenceReserve = 0.30
)

// leastPace is the part of the limit that remains however much inbound there is: the floor
// of the adaptive multiplier.
const leastPace = multiplierFloor

// Number is what is known of a number's throughput. The zero value is a STANDARD number.
type Number struct {
	Limit       float64 // messages per second that the platform allows, in and out; 0: from Level
	Level       string  // STANDARD or HIGH as the service's numbers endpoint tells; "": STANDARD
	Coexistence bool    // the number is used on a phone as well
	Inbound     float64 // measured: 95th percentile of messages per second in, of 10 minutes; 0: not known
	Factor      float64 // part of the limit to pace at, 0 to 1; 0: by the limit
}

// Pace is the rate to send at and how it came about.
type Pace struct {
	Rate    float64 // messages per second: Factor x (Limit - Reserve)
	Limit   float64
	Source  string // where Limit comes from
	Factor  float64
	Reserve float64 // messages per second kept for inbound
	Share   string  // where Reserve comes from
}

// Pace computes the rate to send at. The platform counts at its own end, where jitter turns
// an even schedule into seconds of up to 10 % more: hence the factor (throttle.md 4.3).
func (n Number) Pace() Pace {
	var p Pace
	p.Limit, p.Source = n.limit()
	p.Factor = n.Factor
	if !(p.Factor > 0 && p.Factor <= 1) {
		p.Factor = factor(p.Limit)
	}
	least, why := inboundReserve, "5 % for inbound"
	if n.Coexistence {
		least, why = coexistenceReserve, "30 % for inbound and the phone"
	}
	p.Reserve, p.Share = least*p.Limit, why
	if n.Inbound > p.Reserve {
		p.Reserve, p.Share = n.Inbound, "inbound as measured"
	}
	p.Rate = p.Factor * (p.Limit - p.Reserve)
	if floor := leastPace * p.Limit; p.Rate < floor {
		p.Rate = floor
	}
	return p
}

// String says it to an operator: "68.4/s = 0.9 x (80 STANDARD - 4 (5 % for inbound))".
func (p Pace) String() string {
	if p.Rate > p.Factor*(p.Limit-p.Reserve) {
		return fmt.Sprintf("%.4g/s: the least, because %.4g of %.4g %s is inbound", p.Rate, p.Reserve, p.Limit, p.Source)
	}
	return fmt.Sprintf("%.4g/s = %.3g x (%.4g %s - %.4g (%s))", p.Rate, p.Factor, p.Limit, p.Source, p.Reserve, p.Share)
}

func (n Number) limit() (float64, string) {
	switch {
	case n.Limit > 0:
		return n.Limit, "as configured or told by the service"
	case n.Coexistence:
		return CoexistenceLimit, "coexistence"
	case strings.EqualFold(n.Level, "HIGH"):
		return HighLimit, "HIGH"
	default:
		return StandardLimit, "STANDARD"
	}
}

// factor is 0.90 up to 100/s, 0.95 from 500/s and in a straight line between: at high rates
// independent jitter averages out (throttle.md 4.3).
func factor(limit float64) float64 {
	return 0.90 + 0.05*math.Min(1, math.Max(0, (limit-100)/400))
}
