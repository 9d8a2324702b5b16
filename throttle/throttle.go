// Package throttle hands out send instants so that a number never sends more
// than its limit in any sliding second, however many processes share it.
//
// The senders of campaign/sender call it; it knows nothing of campaigns. It promises: two instants
// of one key lie at least 1/rate apart, no instant is handed out that is older than Lateness, a new
// key starts without a burst, and idle time earns no credit (docs/limits.md#slots).
//
// A run's own rate is set by the operator and need not be even: Allow permits messages at it within
// a Tolerance, and hands out no instants (docs/limits.md#a-runs-own-rate).
//
// A Quota limits how many messages a period has. A Counter leases its units, a Stock keeps the
// units of one number, and a count that is lost is restored from the ledger
// (docs/limits.md#allowance).
package throttle

import (
	"context"
	"errors"
	"time"
)

// Horizon is how far ahead instants are handed out. When a process dies, its instants of at most
// this time are lost.
const Horizon = 250 * time.Millisecond

// Lateness is how old an instant may be when it is handed out. An older instant is forfeited. The
// sender uses an instant up to 15 ms later.
const Lateness = 20 * time.Millisecond

// ErrUnavailable says that the limiter cannot answer now, because Redis is away. The caller may use
// the slots that it has, and sends nothing after them.
var ErrUnavailable = errors.New("limiter unavailable")

// Limiter leases send instants. Local and Redis pass the same suite.
type Limiter interface {
	// Lease hands out at most n consecutive instants of key at rate (messages per second, from
	// throughput.MinRate to MaxRate), none later than Horizon from now. N may be 0: then Wait says
	// when to ask again. Lease does not wait for the rate, only for the limiter itself. The error
	// wraps ErrLease for impossible arguments, ErrUnavailable while the limiter cannot answer, or is
	// the context's.
	//
	// The slots lie further apart while the service throttles key, as Observe told: Slots.Rate.
	Lease(ctx context.Context, key string, rate float64, n int) (Slots, error)

	// Observe tells the limiter that the service answered a message of key, sent in a slot of stage,
	// and whether the answer was throttling. It does not block: the next Lease sends the answers.
	Observe(key string, stage int64, throttled bool)

	// Allow permits up to n uses of key within AllowFor from now, at rate (uses per second, > 0) and
	// within the Tolerance. granted may be 0. If it is less than n, wait is the time until one more is
	// granted. A new key starts without a burst. Lease and Allow do not share their keys. Errors are
	// those of Lease.
	Allow(ctx context.Context, key string, rate float64, n int) (granted int, wait time.Duration, err error)
}

// Slots are N consecutive instants of the local monotonic clock.
type Slots struct {
	First    time.Time
	Interval time.Duration // between consecutive instants
	N        int
	Wait     time.Duration // when N is 0: how long until an instant is free
	// Rate is the rate of the key now, in messages per second: the one that Lease was asked for, or
	// less while the service throttles.
	Rate float64
	// Stage is for Observe. It changes when the rate is cut, so that answers to earlier messages do
	// not cut the rate again.
	Stage int64
}

// At is the i-th instant, from 0.
func (s Slots) At(i int) time.Time { return s.First.Add(time.Duration(i) * s.Interval) }
