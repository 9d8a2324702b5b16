package throttle

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Patient makes the client wait for an answer as long as a busy machine may take. It is for tests
// that say nothing of a server that is slow or away.
func (r *Redis) Patient() {
	const long = 30 * time.Second
	s := &r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.DialTimeout, s.options.ReadTimeout, s.options.WriteTimeout, s.options.PoolTimeout = long, long, long, long
	_ = s.client.Close()
	s.client = redis.NewClient(s.options)
}

// Keys is how many keys a Local remembers.
func (l *Local) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}

// RebuildAfter makes units short-lived, for tests in real time: a lost count is rebuilt after d,
// and units are used within half of that.
func (r *Redis) RebuildAfter(d time.Duration) { r.rebuildAfter, r.unitsFor = d, d/2 }
