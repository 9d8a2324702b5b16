package throttle

import (
	"context"
	"time"
)

// quotaState is the count of one quota. The hash in bucket.lua has the same fields.
type quotaState struct {
	from       time.Time // the period of the count
	generation int64     // 0: the count is not known
	used       int64
	leased     bool      // units were leased since the count was built
	built      time.Time // when the count was last built
	since      time.Time // when the loss of the count was noticed; zero: it is known
	rebuild    int64     // identifies the loss, for Restore
	counting   time.Time // when a caller was last told to rebuild the count
}

// Take leases units as Counter says.
func (l *Local) Take(ctx context.Context, q Quota, a Ask) (Units, error) {
	if err := q.check(a); err != nil {
		return Units{}, err
	}
	if err := ctx.Err(); err != nil {
		return Units{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(q.From) || !now.Before(q.To) { // now is not in the caller's period
		return Units{Wait: max(min(q.From.Sub(now), askAgain), time.Millisecond)}, nil
	}
	s := l.quotas[q.Key]
	if s == nil {
		// Only this process leases units, and it has leased none: there is nothing to wait for.
		s = &quotaState{since: now.Add(-rebuildAfter), from: q.From, rebuild: now.UnixMicro()}
		l.quotas[q.Key] = s
	}
	return s.take(now, q, a), nil
}

// take computes a lease as bucket.lua does. Only the clock of bucket.lua may also go back.
func (s *quotaState) take(now time.Time, q Quota, a Ask) Units {
	if !s.from.Equal(q.From) {
		s.lose(now, q)
	}
	if s.since.IsZero() {
		if a.Generation == s.generation {
			s.used = max(s.used-int64(a.Back), 0)
		}
		n, reserved := q.share(s.used, a.N, a.Reserve)
		s.used += n
		s.leased = s.leased || n > 0
		u := Units{N: int(n), Reserved: reserved, Generation: s.generation, Until: now.Add(UnitsFor)}
		if n > 0 || a.N == 0 {
			return u
		}
		if !s.leased || now.Sub(s.built) < recountAfter {
			u.Empty, u.Wait = true, min(q.To.Sub(now), askAgain)
			return u
		}
		s.lose(now, q)
	}
	switch wait := s.since.Add(rebuildAfter).Sub(now); {
	case wait > 0:
		return Units{Wait: wait}
	case now.Sub(s.counting) < countFor:
		return Units{Wait: askAgain}
	}
	if a.N == 0 {
		return Units{}
	}
	s.counting = now
	return Units{Rebuild: s.rebuild}
}

// lose forgets the count.
func (s *quotaState) lose(now time.Time, q Quota) {
	*s = quotaState{from: q.From, since: now, rebuild: now.UnixMicro()}
}

// Restore sets the count as Counter says.
func (l *Local) Restore(ctx context.Context, q Quota, rebuild, used int64) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.quotas[q.Key]
	if s == nil || s.since.IsZero() || s.rebuild != rebuild || !s.from.Equal(q.From) {
		return false, nil
	}
	*s = quotaState{from: q.From, generation: rebuild, used: used, built: time.Now()}
	return true, nil
}
