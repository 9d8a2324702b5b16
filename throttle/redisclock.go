package throttle

import (
	"sync"
	"time"
)

// clockStep is a difference between two clocks that no round trip explains.
const clockStep = 50 * time.Millisecond

// clockMemory is how long a reading counts: the two clocks drift apart, by NTP's leave up
// to half a millisecond a second.
const clockMemory = time.Minute

// clock relates Redis's clock to this process's monotonic one. A reply that left Redis at
// its time T arrives here at A > T: A - T is the offset and the time on the way, so the smallest
// of many is the best. Two halves of a minute are kept, so that old readings go.
type clock struct {
	base time.Time // monotonic; every local time is an age of it

	mu       sync.Mutex
	known    bool
	younger  time.Duration // smallest A - T of the running half minute
	older    time.Duration // of the half minute before; equal to younger when there is none
	turnedAt time.Duration
}

// now is the age of base.
func (c *clock) now() time.Duration { return time.Since(c.base) }

// observe takes the reading of an exchange that was asked at and has just been answered. It
// returns false, and starts afresh, when Redis's clock cannot be the one it was: the true
// offset lies between asked - redis and answered - redis.
func (c *clock) observe(asked, redis time.Duration) bool {
	answered := c.now()
	least, most := asked-redis, answered-redis
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.start(most, answered)
		return true
	}
	if offset := min(c.younger, c.older); offset < least-clockStep || offset > most+clockStep {
		c.start(most, answered)
		return false
	}
	if answered-c.turnedAt > clockMemory/2 {
		c.older, c.younger, c.turnedAt = c.younger, most, answered
	}
	c.younger = min(c.younger, most)
	return true
}

func (c *clock) start(offset, now time.Duration) {
	c.known, c.younger, c.older, c.turnedAt = true, offset, offset, now
}

// forget drops the offset: after an error the next reply may come from another host.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// local is when, by the local clock, Redis's clock shows redis.
func (c *clock) local(redis time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(redis + min(c.younger, c.older))
}
