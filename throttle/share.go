package throttle

import (
	"context"
	"maps"
	"time"

	"campaignd/throttle/throughput"
)

// Sharer keeps what the processes that send over a number, and those that take its events, know of
// its traffic (docs/limits.md#a-pace-that-learns). Local and Redis are Sharers.
type Sharer interface {
	// Heard tells that an event of key came in, which happened at the given time; message: it is a
	// message of a customer, which the platform counts toward the number's throughput. It does not
	// block.
	Heard(key string, at time.Time, message bool)
	// Share tells what this process measured of key, and returns what all processes measured that
	// shared in the last minute, with the messages that came in. The count of those in own is ignored.
	// The errors are the same as of Lease.
	Share(ctx context.Context, key string, own throughput.Measured) (throughput.Measured, error)
}

var (
	_ Sharer = (*Local)(nil)
	_ Sharer = (*Redis)(nil)
)

// inboundFor is how long a message that came in counts.
const inboundFor = 10 * time.Minute

// secondOf is the second in which a message counts: its own, also if its event was repeated or
// replayed. It reports false if it is too old to count.
func secondOf(at, now time.Time) (int64, bool) {
	if at.IsZero() || at.After(now) {
		at = now
	}
	return at.Unix(), now.Sub(at) < inboundFor
}

// traffic is what came in over a key. way.lua has the same arithmetic.
type traffic struct {
	heard   time.Time     // when the last event came in
	seconds map[int64]int // messages
	minutes map[int64]int // the most messages of one of their seconds
}

// take counts a message that came in.
func (t *traffic) take(second int64) {
	if t.seconds == nil {
		t.seconds, t.minutes = map[int64]int{}, map[int64]int{}
	}
	t.seconds[second]++
	t.minutes[second/60] = max(t.minutes[second/60], t.seconds[second])
}

// inbound sets what came in within the last 10 minutes. It forgets what is older.
func (t *traffic) inbound(now time.Time, m *throughput.Measured) {
	last := now.Unix() / 60
	first := last - int64(inboundFor/time.Minute)
	maps.DeleteFunc(t.seconds, func(second int64, _ int) bool { return second/60 < first })
	maps.DeleteFunc(t.minutes, func(minute int64, _ int) bool { return minute < first })
	m.Inbound, m.Quiet = t.minutes[last], t.minutes[first]
	for minute := first; minute < last; minute++ {
		m.Inbound, m.Quiet = max(m.Inbound, t.minutes[minute]), min(m.Quiet, t.minutes[minute])
	}
}

// Heard notes an event as Sharer says.
func (l *Local) Heard(key string, at time.Time, message bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.traffic[key]
	if t == nil {
		t = &traffic{}
		l.traffic[key] = t
	}
	t.heard = now
	if second, counts := secondOf(at, now); message && counts {
		t.take(second)
	}
}

// Share answers as Sharer says: there is no other process.
func (l *Local) Share(_ context.Context, key string, own throughput.Measured) (throughput.Measured, error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	own.Inbound, own.Quiet, own.Heard = 0, 0, false
	if t := l.traffic[key]; t != nil {
		t.inbound(now, &own)
		own.Heard = now.Sub(t.heard) < inboundFor
	}
	return own, nil
}
