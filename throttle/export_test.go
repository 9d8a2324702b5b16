package throttle

import "time"

// Keys is how many keys a Local remembers.
func (l *Local) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}

// RebuildAfter makes units short-lived, for tests in real time: a lost count is rebuilt after d,
// and units are used within half of that.
func (r *Redis) RebuildAfter(d time.Duration) { r.rebuildAfter, r.unitsFor = d, d/2 }
