package sender

import (
	"slices"
	"sync"
	"time"
)

// queue holds the shots between the planner and the poster. The planner bounds it: two groups, and what runs with a
// limit of their own may send within the limiter's horizon.
type queue struct {
	mu    sync.Mutex
	ready []*shot       // oldest first
	timed []*shot       // not before an instant of their own, by it
	wake  chan struct{} // poked when shots were added
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) push(shots []*shot) {
	q.mu.Lock()
	for _, s := range shots {
		if s.notBefore.IsZero() {
			q.ready = append(q.ready, s)
		} else {
			q.timed = slices.Insert(q.timed, q.until(s.notBefore), s)
		}
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// until is how many timed shots are due at an instant.
func (q *queue) until(at time.Time) int {
	n, _ := slices.BinarySearchFunc(q.timed, at, func(s *shot, at time.Time) int {
		if s.notBefore.After(at) {
			return 1
		}
		return -1
	})
	return n
}

// due is how many shots may be posted at an instant.
func (q *queue) due(at time.Time) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready) + q.until(at)
}

// empty reports whether nothing is queued, for now or later.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready)+len(q.timed) == 0
}

// take removes the first shot that may be posted at now; nil: there is none. Those that waited for their instant come
// first: they may not be late.
func (q *queue) take(now time.Time) *shot {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.ready
	if q.until(now) > 0 {
		from = &q.timed
	}
	if len(*from) == 0 {
		return nil
	}
	s := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	return s
}

// next is how many shots may be posted at now. If none may, it says how long to wait, so that those which come due
// within together of the first are there; 0: nothing is queued.
func (q *queue) next(now time.Time) (n int, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.ready) + q.until(now); n > 0 || len(q.timed) == 0 {
		return n, 0
	}
	last := q.until(q.timed[0].notBefore.Add(together)) - 1
	return 0, q.timed[last].notBefore.Sub(now)
}

// remove takes out every shot that match holds for.
func (q *queue) remove(match func(*shot) bool) (out []*shot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	split := func(from []*shot) (kept []*shot) {
		for _, s := range from {
			if match(s) {
				out = append(out, s)
			} else {
				kept = append(kept, s)
			}
		}
		return kept
	}
	q.ready, q.timed = split(q.ready), split(q.timed)
	return out
}
