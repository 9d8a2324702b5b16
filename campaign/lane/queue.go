package lane

import (
	"sync"
	"time"
)

// queue holds the shots between the planner and the poster, oldest first. Its
// length is bounded by the planner: at most two groups.
type queue struct {
	mu    sync.Mutex
	shots []*shot
	wake  chan struct{} // poked when shots were added
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) push(shots []*shot) {
	q.mu.Lock()
	q.shots = append(q.shots, shots...)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.shots)
}

// take removes the first shot that may be posted at now. When there is none it
// says how long until there is one (0: the queue is empty).
func (q *queue) take(now time.Time) (*shot, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var wait time.Duration
	for i, s := range q.shots {
		if s.notBefore.After(now) {
			if d := s.notBefore.Sub(now); wait == 0 || d < wait {
				wait = d
			}
			continue
		}
		if i == 0 {
			q.shots[0] = nil
			q.shots = q.shots[1:]
		} else {
			q.shots = append(q.shots[:i], q.shots[i+1:]...)
		}
		return s, 0
	}
	return nil, wait
}

// next says how long until a shot may be posted, and how many are queued.
func (q *queue) next(now time.Time) (wait time.Duration, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, s := range q.shots {
		d := s.notBefore.Sub(now)
		if d <= 0 {
			return 0, len(q.shots)
		}
		if i == 0 || d < wait {
			wait = d
		}
	}
	return wait, len(q.shots)
}

// remove takes out every shot that match holds for.
func (q *queue) remove(match func(*shot) bool) []*shot {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*shot
	kept := q.shots[:0:0]
	for _, s := range q.shots {
		if match(s) {
			out = append(out, s)
		} else {
			kept = append(kept, s)
		}
	}
	q.shots = kept
	return out
}
