package webhooks

import (
	"strconv"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
)

// The breaker of throttled messages. The service accepts such a message, and the platform fails it
// later because the number is too fast (130429). The limiter does not learn of this: it sees the
// answers to sends only. When 20 of the last 25 messages of a connection have failed so, the
// breaker trips and holds the connection. After that each further such failure begins the hold
// again, until a delivery ends the hold and closes the breaker
// (docs/limits.md#accepted-and-too-fast).
const (
	breakerWindow = 25
	breakerTrips  = 20
	// breakerOld is the age from which a status is ignored: the service repeats and replays old ones.
	breakerOld = 2 * time.Minute
	// breakerEvery is the shortest time between two holds of one connection.
	breakerEvery = time.Second
)

// breakers has the breaker of each connection. Each process counts for itself; the hold is shared.
type breakers struct {
	mu sync.Mutex
	of map[string]*breaker
}

type breaker struct {
	last   [breakerWindow]bool // throttled?
	n      int                 // statuses in last, at most breakerWindow
	next   int
	made   time.Time // when its first status came, in whole seconds
	closed bool      // a delivery was seen since the last trip, or since made
	tripAt time.Time // when it tripped last; zero: it has not
	told   time.Time // when see returned a hold last
	// ahead is the latest own time of a delivered status so far. One that comes after a trip and is
	// not later may be a repetition, so it does not close the breaker.
	ahead time.Time
	since time.Time // the own time that a delivered status must exceed to close the breaker
}

// see counts a delivered status, or one that failed for this reason. It returns the hold that
// begins, or the lift that ends one. A delivered status heals, so it counts from
// reception.LiftTime.
// own is the status's own time.
func (b *breakers) see(
	connection string, delivered bool, f messaging.Failure, own, received time.Time,
) (hold *campaign.Hold, lift *campaign.Lift) {
	at, counts := reception.LiftTime(own, received)
	if !delivered && !counts {
		at, counts = received, true
	}
	if connection == "" || !counts || received.Sub(at) > breakerOld {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.of[connection]
	if x == nil {
		if b.of == nil {
			b.of = map[string]*breaker{}
		}
		if len(b.of) >= maxAccounts {
			return nil, nil
		}
		x = &breaker{made: received.Truncate(time.Second)}
		b.of[connection] = x
	}
	x.last[x.next] = f.Throttles
	x.next = (x.next + 1) % breakerWindow
	x.n = min(x.n+1, breakerWindow)
	closes := delivered && !x.closed && own.After(x.since)
	if delivered && own.After(x.ahead) {
		x.ahead = own
	}
	if closes {
		// The hold of an earlier process may be newer than a delivery of before the start: the ledger
		// compares them, and the next delivery tries again.
		x.closed = !own.Before(x.made)
		return nil, &campaign.Lift{Scope: campaign.HoldConnection, ID: connection, Reason: strconv.Itoa(throughputReached), At: at,
			By: campaign.HoldByBreaker}
	}
	tripped := !x.tripAt.IsZero() && !x.closed
	if !f.Throttles || !tripped && x.count() < breakerTrips || received.Sub(x.told) < breakerEvery {
		return nil, nil
	}
	x.closed, x.tripAt, x.since, x.told, x.n, x.next, x.last = false, at, at, received, 0, 0, [breakerWindow]bool{}
	if x.ahead.After(x.since) {
		x.since = x.ahead
	}
	return &campaign.Hold{Scope: campaign.HoldConnection, ID: connection, Reason: strconv.Itoa(throughputReached),
		Detail: "the messages were accepted and failed later: " + f.Sentence,
		Source: campaign.HoldByBreaker, Since: at}, nil
}

// throughputReached is the platform's code of a number that is too fast. Every throttling code
// holds under this one reason, so that one delivery ends the hold.
const throughputReached = 130429

// count returns how many of the last statuses were throttled.
func (x *breaker) count() (n int) {
	for _, t := range x.last[:x.n] {
		if t {
			n++
		}
	}
	return n
}
