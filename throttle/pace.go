package throttle

import (
	"fmt"
	"math"
	"strings"
)

// The limits of a number about which nothing better is known: the platform's throughput levels and
// its fixed limit of coexistence numbers (docs/limits.md#defaults), in messages per second.
const (
	StandardLimit    = 80
	HighLimit        = 1000
	CoexistenceLimit = 20
)

// The least part of a number's limit that is kept for inbound messages, because the platform
// counts them together with ours. A coexistence number also sends from its owner's phone.
const (
	inboundReserve     = 0.05
	coexistenceReserve = 0.30
)

// leastPace is the part of the limit that is always used, however many messages come in. It equals
// the floor of the adaptive multiplier.
const leastPace = multiplierFloor

// Number is what is known of a number's throughput. The zero value is a STANDARD number.
type Number struct {
	// Limit is the platform's limit in messages per second, inbound and outbound together.
	// 0 takes it from Coexistence and Level.
	Limit float64
	// Level is STANDARD or HIGH, as the service's numbers endpoint tells; "" is STANDARD.
	Level string
	// Coexistence means that the number is used on a phone as well.
	Coexistence bool
	// Inbound is the measured rate of inbound messages per second, the 95th percentile of ten
	// minutes. 0: not known.
	Inbound float64
	// Factor is the part of the limit to pace at, above 0 and at most 1. Any other value takes the
	// default for the limit: 0.90 up to 100 a second, 0.95 from 500 a second.
	Factor float64
}

// Pace is the rate to send at, with the terms it is computed from.
type Pace struct {
	Rate    float64 // messages per second: Factor x (Limit - Reserve), at least 2 % of Limit
	Limit   float64 // messages per second
	Source  string  // where Limit comes from, for people
	Factor  float64 // above 0, at most 1
	Reserve float64 // messages per second kept for inbound
	Share   string  // where Reserve comes from, for people
}

// Pace computes the rate to send at. The platform counts messages when they arrive: jitter then
// makes some seconds of an even schedule up to 10 % fuller. The factor allows for that
// (docs/limits.md#pace).
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

// String is the sum for an operator: "68.4/s = 0.9 x (80 STANDARD - 4 (5 % for inbound))".
func (p Pace) String() string {
	if p.Rate > p.Factor*(p.Limit-p.Reserve) {
		return fmt.Sprintf("%.4g/s: the minimum, because %.4g of %.4g %s is inbound", p.Rate, p.Reserve, p.Limit, p.Source)
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

// factor is 0.90 up to 100 a second, 0.95 from 500 a second, and linear between: at high rates
// independent jitter averages out (docs/limits.md#pace).
func factor(limit float64) float64 {
	return 0.90 + 0.05*math.Min(1, math.Max(0, (limit-100)/400))
}
