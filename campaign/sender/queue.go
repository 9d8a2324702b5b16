package sender

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// attempt is one try at a delivery whose intent is committed. It exists in memory only; after a
// death recovery writes a doubt in its place.
type attempt struct {
	segment  *segment
	delivery campaign.Delivery
	nth      int          // 1 for the first
	tries    int          // earlier attempts that counted
	late     int          // how often it was too late for its slot
	intentAt time.Time    // before the intent's transaction began
	entry    atomic.Int64 // its entry in the wire log, plus 1; 0: it has no entry
	charge   *charge      // its units
	limited  bool         // its run had a limit of its own when it was queued
	within   time.Time    // the last time at which it may be posted; zero: any time
	pair     bool         // other runs may send to its recipient over this connection
	stage    int64        // of the slot in which it was posted (throttle.Slots)
	slot     time.Time    // in which it was posted
	written  time.Time    // when its request was written; zero: it was not
	until    time.Time    // the last instant for the first byte of its request
	unsent   *atomic.Bool // it was certainly not sent; nil: no other attempt is compared with it (pairs)
}

// queue has the attempts between the planner and the poster, the oldest first. While the own limit
// of a run refuses its attempts, they keep their places, and those behind them go first. The
// planner queues at most two groups, and what each run with a limit of its own may have.
type queue struct {
	added signal // sent when attempts were added, or may be posted earlier
	low   signal // sent when few attempts are left

	mu       sync.Mutex
	attempts []*attempt
	limited  int                // how many attempts are of runs that had a limit of their own when they were queued
	refused  map[*run]time.Time // runs that their own limit refuses, until then
	unposted map[*run]int       // attempts that were taken and not posted, since takeUnposted
	few      int                // the planner is told when this many attempts of runs without a limit are left
	most     int                // how many attempts of one run may be queued
}

// newQueue makes a queue that sends low to the planner.
func newQueue(low signal) *queue {
	return &queue{added: newSignal(), low: low, refused: map[*run]time.Time{}, unposted: map[*run]int{}}
}

// push adds attempts at the end.
func (q *queue) push(attempts []*attempt) {
	q.mu.Lock()
	q.attempts = append(q.attempts, attempts...)
	for _, a := range attempts {
		if a.limited = a.segment.run.ownRate() > 0; a.limited {
			q.limited++
		}
	}
	q.mu.Unlock()
	q.added.send()
}

// setLow sets how many attempts of runs without a limit are few, and the most attempts of one run
// that may be queued.
func (q *queue) setLow(few, most int) {
	q.mu.Lock()
	q.few, q.most = few, most
	q.mu.Unlock()
}

// refuse keeps the attempts of a run until its own limit may be asked again.
func (q *queue) refuse(r *run, until time.Time) {
	q.mu.Lock()
	q.refused[r] = until
	q.mu.Unlock()
}

// readmit lets the attempts of a run ask its own limit at once: the limit has changed.
func (q *queue) readmit(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, refused := q.refused[r]; refused {
		delete(q.refused, r)
		q.added.send()
	}
}

// isRefused reports whether the run's own limit refuses its attempts now.
func (q *queue) isRefused(r *run, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return now.Before(q.refused[r])
}

// unlimited is how many attempts of runs without a limit of their own are queued.
func (q *queue) unlimited() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.attempts) - q.limited
}

// takes reports whether attempts of runs without a limit may join the queue.
func (q *queue) takes() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.attempts)-q.limited < q.most
}

// next counts the attempts that no run's own limit refuses. If there are none, it returns how long
// to wait for the first; 0: nothing is queued.
func (q *queue) next(now time.Time) (n int, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forgive(now)
	n = len(q.attempts)
	if len(q.refused) == 0 {
		return n, 0
	}
	for _, a := range q.attempts {
		if until, refused := q.refused[a.segment.run]; refused {
			n--
			if d := until.Sub(now); wait == 0 || d < wait {
				wait = d
			}
		}
	}
	if n > 0 {
		return n, 0
	}
	return 0, wait
}

// forgive forgets the refusals that are over. The caller holds the lock.
func (q *queue) forgive(now time.Time) {
	for r, until := range q.refused {
		if !now.Before(until) {
			delete(q.refused, r)
		}
	}
}

// of is how many attempts of a run are queued.
func (q *queue) of(r *run) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.countOf(r)
}

// countOf is like of. The caller holds the lock.
func (q *queue) countOf(r *run) (n int) {
	for _, a := range q.attempts {
		if a.segment.run == r {
			n++
		}
	}
	return n
}

// capacity is how many attempts of a run with a limit of its own may join the queue. most is how
// many attempts of one run may be queued.
func (q *queue) capacity(r *run, most int) int { return max(r.mostQueued(most)-q.of(r), 0) }

// asking is a run whose own limit may be asked, and how many of its attempts wait for that.
type asking struct {
	run *run
	n   int
}

// asking lists the runs whose own limit may be asked, in the order of their first attempts. It
// looks only at as many attempts as there are slots in hand: a permission for a later attempt might
// expire unused.
func (q *queue) asking(now time.Time, slots int) (all []asking) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limited == 0 {
		return nil
	}
	q.forgive(now)
	for _, a := range q.attempts {
		r := a.segment.run
		if !q.refused[r].IsZero() {
			continue
		}
		if slots--; slots < 0 {
			break
		}
		if !a.limited || r.ownRate() <= 0 {
			continue
		}
		i := slices.IndexFunc(all, func(one asking) bool { return one.run == r })
		if i < 0 {
			i, all = len(all), append(all, asking{run: r})
		}
		all[i].n++
	}
	return all
}

// empty reports whether nothing is queued, ready or not.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.attempts) == 0
}

// take removes the first attempt that may be posted now, and returns it; nil: there is none. It
// wakes the planner when few attempts are left.
func (q *queue) take(now time.Time, own permissions) *attempt {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, a := range q.attempts {
		r := a.segment.run
		if a.limited && !own.use(r, now) {
			continue
		}
		copy(q.attempts[1:i+1], q.attempts[:i])
		q.attempts[0] = nil
		q.attempts = q.attempts[1:]
		if a.limited {
			q.limited--
		}
		if a.limited && q.countOf(r) == r.mostQueued(q.most)/2 || !a.limited && len(q.attempts)-q.limited == q.few {
			q.low.send()
		}
		return a
	}
	return nil
}

// giveBack notes that an attempt of the run was taken and not posted.
func (q *queue) giveBack(r *run) {
	q.mu.Lock()
	q.unposted[r]++
	q.mu.Unlock()
}

// takeUnposted returns how many attempts of each run were given back since its last call.
func (q *queue) takeUnposted() map[*run]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.unposted) == 0 {
		return nil
	}
	all := q.unposted
	q.unposted = map[*run]int{}
	return all
}

// remove takes out every attempt for which match is true, and returns them.
func (q *queue) remove(match func(*attempt) bool) (out []*attempt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var kept []*attempt
	for _, a := range q.attempts {
		if match(a) {
			out = append(out, a)
			if a.limited {
				q.limited--
			}
		} else {
			kept = append(kept, a)
		}
	}
	q.attempts = kept
	return out
}
