// Package throttle hands out send instants so that a number never sends more
// than its limit in any sliding second, however many processes share it.
//
// The senders of campaign/sender call it; it knows nothing of campaigns. It promises: two instants
// of one key lie at least 1/rate apart, none is handed out that is older than Lateness, a new key
// starts without a burst, and idle time earns no credit (docs/limits.md#slots).
//
// A run's own rate is the operator's wish, and may be uneven: Allow permits uses of it within a
// Tolerance, without instants (docs/limits.md#a-runs-own-rate).
//
// A Quota limits how many messages a period has. A Counter leases its units, a Stock holds those of
// one number, and the ledger's count restores what is lost (docs/limits.md#allowance).
package throttle

import (
	"context"
	"errors"
	"time"
)

// Horizon is how far ahead instants are handed out. A process that dies wastes at most this much.
const Horizon = 250 * time.Millisecond

// Lateness is how old an instant may be that is handed out. An older one is forfeited and never
// caught up. The sender uses an instant up to 15 ms later.
const Lateness = 20 * time.Millisecond

// ErrUnavailable says that the limiter cannot answer now, because Redis is away. The caller uses
// the slots in hand and then waits: it fails closed.
var ErrUnavailable = errors.New("limiter unavailable")

// Limiter leases send instants. Local and Redis pass the same suite.
type Limiter interface {
	// Lease hands out at most n consecutive instants of key at rate (messages per second, from
	// MinRate to MaxRate), none later than Horizon from now. N may be 0: then Wait says when to ask
	// again. Lease does not wait for the rate, only for the limiter itself. The error wraps ErrLease
	// for impossible arguments, ErrUnavailable while the limiter cannot answer, or is the context's.
	//
	// The slots lie further apart while the service throttles key, as Observe told: Slots.Rate.
	Lease(ctx context.Context, key string, rate float64, n int) (Slots, error)

	// Observe tells that the service answered a message of key that was sent in a slot of stage, and
	// whether the answer was throttling. It does not block: the next Lease takes the answers along.
	Observe(key string, stage int64, throttled bool)

	// Allow permits up to n uses of key within AllowFor from now, at rate (per second, > 0), as far
	// as the Tolerance goes. granted may be 0; when it is less than n, wait says how long it takes
	// until one more is granted. A key seen for the first time starts without a burst. Lease knows
	// nothing of what Allow permitted.
	Allow(ctx context.Context, key string, rate float64, n int) (granted int, wait time.Duration, err error)
}

// Slots are N consecutive instants of the local monotonic clock.
type Slots struct {
	First    time.Time
	Interval time.Duration // between consecutive instants
	N        int
	Wait     time.Duration // when N is 0: how long until an instant is free
	// Rate is what the key may send at now, in messages per second: what Lease was asked for, or less
	// while the service throttles.
	Rate float64
	// Stage is for Observe. It changes whenever the rate was cut, so that answers to messages sent at
	// the rate before do not cut it again.
	Stage int64
}

// At is the i-th instant, from 0.
func (s Slots) At(i int) time.Time { return s.First.Add(time.Duration(i) * s.Interval) }
