package throttle

import (
	"errors"
	"fmt"
	"math"
	"time"

	"campaignd/throttle/throughput"
)

// ErrLease is wrapped by the error of a Lease that could never be granted: the key is empty, no
// slot is wanted, or the rate is not between throughput.MinRate and MaxRate. It is a mistake of the
// caller; asking again does not help.
var ErrLease = errors.New("no such lease")

// forgetAfter is how long the cursor of an idle key is kept after its last slot.
const forgetAfter = time.Minute

// forgetRateAfter is how long the adapted rate of an idle key is kept; cubic.lua has the same.
const forgetRateAfter = 10 * time.Minute

// interval is the time between two slots at rate. It is rounded up to a whole
// nanosecond: at 3 per second, 333,333,333 ns would put four instants into one second.
func interval(key string, rate float64, n int) (time.Duration, error) {
	switch {
	case key == "":
		return 0, fmt.Errorf("%w: the key is empty", ErrLease)
	case n <= 0:
		return 0, fmt.Errorf("%w: %s: %d slots, want 1 or more", ErrLease, key, n)
	case !(rate >= throughput.MinRate && rate <= throughput.MaxRate): // also NaN
		return 0, fmt.Errorf("%w: %s: %v per second, want %v to %v", ErrLease, key, rate, throughput.MinRate, throughput.MaxRate)
	}
	return time.Duration(math.Ceil(1e9 / rate)), nil
}

// fit is how many slots lie between first and the horizon, now + Horizon; at most n.
func fit(first, now time.Time, every time.Duration, n int) int {
	ahead := Horizon - first.Sub(now)
	if ahead < 0 {
		return 0
	}
	return min(n, int(ahead/every)+1)
}

// stretch is the interval at part of the rate that has the interval every.
func stretch(every time.Duration, part float64) time.Duration {
	if part >= 1 {
		return every
	}
	return time.Duration(math.Ceil(float64(every) / part))
}
