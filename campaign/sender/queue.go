package sender

import (
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
)

// attempt is one try at a delivery whose intent is committed. It exists in memory only: a death
// forgets it, and recovery writes a doubt.
type attempt struct {
	segment   *segment
	delivery  campaign.Delivery
	number    int       // 1 for the first
	tries     int       // earlier attempts that counted
	intentAt  time.Time // before the intent's transaction began
	notBefore time.Time // of the campaign's own limit; zero: now
	slotted   bool      // notBefore is a slot of that limit; false: when to ask for one, if there is a limit
}

// queue holds the attempts between the planner and the poster. The planner bounds it: two groups,
// and what runs with a limit of their own may send within the limiter's horizon.
type queue struct {
	added signal // sent when attempts were added
	low   signal // sent when no more than lowAt attempts are left that may be posted soon
	soon  time.Duration

	mu    sync.Mutex
	lowAt int
	ready []*attempt // oldest first
	timed []*attempt // not before an instant of their own, by it
}

// newQueue makes a queue that sends low to the planner. Attempts that come due within soon count
// as those that may be posted.
func newQueue(low signal, soon time.Duration) *queue {
	return &queue{added: newSignal(), low: low, soon: soon}
}

func (q *queue) push(attempts []*attempt) {
	q.mu.Lock()
	for _, a := range attempts {
		if a.notBefore.IsZero() {
			q.ready = append(q.ready, a)
		} else {
			q.timed = slices.Insert(q.timed, q.until(a.notBefore), a)
		}
	}
	q.mu.Unlock()
	q.added.send()
}

// until is how many timed attempts are due at an instant.
func (q *queue) until(at time.Time) int {
	n, _ := slices.BinarySearchFunc(q.timed, at, func(a *attempt, at time.Time) int {
		if a.notBefore.After(at) {
			return 1
		}
		return -1
	})
	return n
}

// due is how many attempts may be posted at an instant.
func (q *queue) due(at time.Time) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready) + q.until(at)
}

// setLow says at how many attempts the planner is woken.
func (q *queue) setLow(n int) {
	q.mu.Lock()
	q.lowAt = n
	q.mu.Unlock()
}

// empty reports whether nothing is queued, for now or later.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready)+len(q.timed) == 0
}

// take removes the first attempt that may be posted at now; nil: there is none. Those that waited
// for their instant come first: they may not be late.
func (q *queue) take(now time.Time) *attempt {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.ready
	if q.until(now) > 0 {
		from = &q.timed
	}
	if len(*from) == 0 {
		return nil
	}
	a := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	if len(q.ready)+q.until(now.Add(q.soon)) == q.lowAt { // the planner commits the next group now
		q.low.send()
	}
	return a
}

// next is how many attempts may be posted at now. If none may, it says how long to wait, so that
// those which come due within coalesceWindow of the first are there; 0: nothing is queued.
func (q *queue) next(now time.Time) (n int, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.ready) + q.until(now); n > 0 || len(q.timed) == 0 {
		return n, 0
	}
	last := q.until(q.timed[0].notBefore.Add(coalesceWindow)) - 1
	return 0, q.timed[last].notBefore.Sub(now)
}

// remove takes out every attempt that match holds for.
func (q *queue) remove(match func(*attempt) bool) (out []*attempt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	split := func(from []*attempt) (kept []*attempt) {
		for _, a := range from {
			if match(a) {
				out = append(out, a)
			} else {
				kept = append(kept, a)
			}
		}
		return kept
	}
	q.ready, q.timed = split(q.ready), split(q.timed)
	return out
}
