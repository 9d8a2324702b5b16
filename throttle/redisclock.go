package throttle

import (
	"sync"
	"time"
)

// clockStep is the least difference between two clocks that counts as a step: no round trip
// explains it.
const clockStep = 50 * time.Millisecond

// clockMemory is how long a reading counts. The two clocks drift apart, under NTP by up to half a
// millisecond a second.
const clockMemory = time.Minute

// clock relates Redis's clock to this process's monotonic one (docs/limits.md#clocks). A reply that
// was asked for at Q, left Redis at its time T and arrives here at A says that the offset lies between
// Q - T and A - T. The smallest A - T of many is the best estimate. Both bounds are kept for two half
// minutes, so that old readings expire.
type clock struct {
	base time.Time // monotonic; local times are durations since base

	mu       sync.Mutex
	known    bool
	younger  bounds // of the current half minute
	older    bounds // of the half minute before; equal to younger when there was none
	turnedAt time.Duration
}

// bounds are the greatest Q - T and the smallest A - T of some readings.
type bounds struct{ least, most time.Duration }

func (b bounds) and(o bounds) bounds { return bounds{max(b.least, o.least), min(b.most, o.most)} }

// now is the time since base.
func (c *clock) now() time.Duration { return time.Since(c.base) }

// observe takes the reading of an exchange: asked is when it began, and now it has been answered.
// When the offsets that it allows exclude those that were known, Redis's clock is not the one of
// before: observe starts again and returns false. A slow exchange allows many.
func (c *clock) observe(asked, redis time.Duration) bool {
	answered := c.now()
	read := bounds{asked - redis, answered - redis}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.start(read, answered)
		return true
	}
	if k := c.younger.and(c.older); k.most < read.least-clockStep || k.least > read.most+clockStep {
		c.start(read, answered)
		return false
	}
	if answered-c.turnedAt > clockMemory/2 {
		c.older, c.younger, c.turnedAt = c.younger, read, answered
	}
	c.younger = c.younger.and(read)
	return true
}

func (c *clock) start(read bounds, now time.Duration) {
	c.known, c.younger, c.older, c.turnedAt = true, read, read, now
}

// forget drops the offset: after an error the next reply may come from another host.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// local converts a time of Redis's clock to the local clock.
func (c *clock) local(redis time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(redis + c.younger.and(c.older).most)
}
