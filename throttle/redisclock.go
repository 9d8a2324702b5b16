package throttle

import (
	"sync"
	"time"
)

// clockStep is the least difference between two clocks that counts as a step: no round trip
// explains it.
const clockStep = 50 * time.Millisecond

// clockTries is how many slow exchanges in a row mean that the network to Redis is slow. Fewer may
// mean a new connection or a busy machine.
const clockTries = 3

// clockMemory is how long a reading counts. The two clocks drift apart, under NTP by up to half a
// millisecond a second.
const clockMemory = time.Minute

// clock relates Redis's clock to this process's monotonic one (docs/limits.md#clocks). A reply that
// left Redis at its time T arrives here at A. A - T is the offset plus the time on the way, so the
// smallest difference of many is the best estimate. It is kept for two half minutes, so that old
// readings expire.
type clock struct {
	base time.Time // monotonic; local times are durations since base

	mu       sync.Mutex
	known    bool          // the offset may be used for slots
	tries    int           // exchanges since the offset was forgotten
	younger  time.Duration // smallest A - T of the current half minute
	older    time.Duration // of the half minute before; equal to younger when there was none
	turnedAt time.Duration
}

// now is the time since base.
func (c *clock) now() time.Duration { return time.Since(c.base) }

// observe takes the reading of an exchange: asked is when it began, and now it has been answered.
// The true offset lies between asked - redis and answered - redis. When that excludes the known
// offset, Redis's clock has stepped or is another one: observe starts again and returns false.
func (c *clock) observe(asked, redis time.Duration) bool {
	answered := c.now()
	least, most := asked-redis, answered-redis
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.start(most, answered)
		c.tries++
		c.known = most-least <= clockStep || c.tries == clockTries
		return true
	}
	if offset := min(c.younger, c.older); offset < least-clockStep || offset > most+clockStep {
		c.start(most, answered)
		c.known = true
		return false
	}
	if answered-c.turnedAt > clockMemory/2 {
		c.older, c.younger, c.turnedAt = c.younger, most, answered
	}
	c.younger = min(c.younger, most)
	return true
}

func (c *clock) start(offset, now time.Duration) {
	c.younger, c.older, c.turnedAt = offset, offset, now
}

// forget makes the offset unknown. It is called after an error, because the next reply may come
// from another host.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.tries = false, 0
}

// placed reports whether the offset is known, so that slots can be converted to local times.
func (c *clock) placed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// doubt is by how much the offset changed lately: the processes of a number place their slots as
// differently.
func (c *clock) doubt() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.younger - c.older).Abs()
}

// local converts a time of Redis's clock to the local clock.
func (c *clock) local(redis time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(redis + min(c.younger, c.older))
}
