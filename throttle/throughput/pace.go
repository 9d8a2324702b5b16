// Package throughput computes how fast a number may be sent at, from what is known of it. It is
// arithmetic only: the checks of a campaign file, the forecast and the daemon call it, and the
// limiter refuses rates outside its bounds.
package throughput

import (
	"fmt"
	"math"
	"strings"
)

// The limits of a number about which nothing better is known: the platform's throughput levels and
// its fixed limit of coexistence numbers (docs/limits.md#throughput), in messages per second.
const (
	StandardLimit    = 80
	HighLimit        = 1000
	CoexistenceLimit = 20
)

// The rates that a lease may have, in messages per second. MinRate is one message in eleven days.
// Above MaxRate the interval would be under a microsecond, finer than the clock of Redis.
const (
	MinRate = 1e-6
	MaxRate = 1e6
)

// The part of a number's limit that is kept for inbound messages, because the platform
// counts them together with ours. A coexistence number also sends from its owner's phone.
const (
	inboundReserve     = 0.05
	coexistenceReserve = 0.30
)

// Number is what is known of a number's throughput. The zero value is a STANDARD number.
type Number struct {
	// Limit is the platform's limit in messages per second, inbound and outbound together.
	// 0 takes it from Coexistence and Level.
	Limit float64
	// Level is STANDARD or HIGH, as the service's numbers endpoint tells; "" is STANDARD.
	Level string
	// Coexistence means that the number is used on a phone as well.
	Coexistence bool
}

// Pace is the rate to send at, with the terms it is computed from.
type Pace struct {
	Rate    float64 // messages per second: Factor x (Limit - Reserve)
	Limit   float64 // messages per second
	Source  string  // where Limit comes from, for people
	Factor  float64 // from 0.90 to 0.95
	Reserve float64 // messages per second kept for inbound
	Share   string  // where Reserve comes from, for people
	Fixed   bool    // the pace does not follow what is measured: a coexistence number
}

// Pace computes the rate to send at. The platform counts messages when they arrive: jitter then
// makes some seconds of an even schedule up to 10 % fuller. The factor allows for that
// (docs/limits.md#pace).
func (n Number) Pace() Pace {
	var p Pace
	p.Limit, p.Source = n.limit()
	p.Factor = factor(p.Limit)
	p.Reserve, p.Share = inboundReserve*p.Limit, "5 % for inbound"
	if n.Coexistence {
		p.Reserve, p.Share = coexistenceReserve*p.Limit, "30 % for inbound and the phone"
		p.Fixed = true
	}
	p.Rate = p.Factor * (p.Limit - p.Reserve)
	return p
}

// String is the sum for an operator: "68.4/s = 0.9 x (80 STANDARD - 4 (5 % for inbound))".
func (p Pace) String() string {
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
