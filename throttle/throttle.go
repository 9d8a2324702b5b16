// Package throttle hands out send instants so that a number never sends more
// than its limit in any sliding second, however many processes share it.
//
// The pacers of campaign/sender call it; it knows nothing of campaigns. It promises:
// instants of one key are spaced by 1/rate, none is further in the past than
// Lateness, a key seen for the first time starts without a burst, and idle time
// earns no credit (design section 6; the measurements are in docs/decisions).
package throttle

import (
	"context"
	"errors"
	"time"
)

// Horizon is how far ahead instants are handed out. A dead process wastes at most this much.
const Horizon = 250 * time.Millisecond

// Lateness is how late an instant may be used. Later it is forfeited: never caught up.
const Lateness = 20 * time.Millisecond

// ErrUnavailable is returned while the limiter cannot know (Redis away). The
// caller finishes the slots in hand and then waits: it fails closed.
var ErrUnavailable = errors.New("limiter unavailable")

// Limiter leases send instants. Local and Redis pass the same suite.
type Limiter interface {
	// Lease hands out at most n consecutive instants of key at rate (per second, > 0),
	// none later than Horizon from now. N may be 0: then Wait says when to ask again.
	// It does not block on the rate, only on the limiter itself.
	Lease(ctx context.Context, key string, rate float64, n int) (Slots, error)
}

// Slots are N consecutive instants of the local monotonic clock.
type Slots struct {
	First    time.Time
	Interval time.Duration // between consecutive instants
	N        int
	Wait     time.Duration // when N is 0: how long until there is one
}

// At is the i-th instant.
func (s Slots) At(i int) time.Time { return s.First.Add(time.Duration(i) * s.Interval) }
