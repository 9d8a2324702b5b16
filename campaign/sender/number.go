package sender

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// number is what is known of one connection: its rate, what holds it, its counters and the latency
// of its posts. It is safe for concurrent use.
type number struct {
	connection string
	o          Options
	latency    latency
	counts     counts
	circuit    circuit
	probing    atomic.Pointer[probeRight] // the right of this process to test a half-open breaker
	probes     atomic.Int64               // tests under way
	learning

	mu     sync.Mutex
	part   float64      // of the configured pace that the limiter granted last
	downs  int          // consecutive rests because the service could not be reached
	noSlot limiterFault // the limiter cannot be asked
	until  time.Time    // the number rests until then
	proven map[layout]time.Time
}

// layout names what a message is made of, beside the values of its row.
type layout struct{ template, language string }

// accepts notes that a message of the run was posted at a time and accepted.
func (n *number) accepts(r *run, posted time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proven == nil {
		n.proven = map[layout]time.Time{}
	}
	n.proven[layout{r.template, r.language}] = posted
}

// accepted is when the last message with the template of the run was posted that was accepted;
// zero: this process knows of none.
func (n *number) accepted(r *run) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proven[layout{r.template, r.language}]
}

func newNumber(connection string, o Options) *number {
	n := &number{connection: connection, o: o, part: 1}
	n.counts.last.Store(time.Now().UnixNano())
	return n
}

// jitter changes a wait as the options say; each connection draws its own.
func (n *number) jitter(purpose string, d time.Duration) time.Duration {
	return n.o.Jitter(n.connection+" "+purpose, d)
}

// pace is the rate now, in messages per second: the number's ceiling, lowered while the service
// throttles the number (docs/limits.md#slowing-down); 0 while the pace is not known.
func (n *number) pace() float64 {
	ceiling := n.ceiling()
	if ceiling <= 0 {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.part * ceiling
}

// lease asks for slots: the limiter lowers the pace by what all replicas heard of the service.
func (n *number) lease(ctx context.Context, l throttle.Limiter, want int) (throttle.Slots, error) {
	n.learn(ctx, l)
	ceiling := n.ceiling()
	// 200 ms of work a lease: a message costs a fraction of a call (docs/performance.md#limits).
	slots, err := l.Lease(ctx, n.connection, ceiling, min(want, int(min(max(n.pace()/5, 1), 200))))
	if err == nil {
		n.mu.Lock()
		n.part = slots.Rate / ceiling
		n.mu.Unlock()
	}
	return slots, err
}

// answered notes what an answer to a post says of the number: e is nil after an acceptance. A doubt
// and a request that was not sent say nothing.
func (n *number) answered(e *messaging.Error) {
	switch {
	case e == nil:
	case e.Proof != messaging.NotSent || e.Status == 0:
		return
	case e.Action == messaging.Slow:
		n.counts.throttled.Add(1)
	}
	n.mu.Lock()
	n.downs = 0
	n.mu.Unlock()
}

// rests is how long the number sends nothing whatever the holds say, and why; 0 or less: it may
// send.
func (n *number) rests(now time.Time) (time.Duration, campaign.Limit) {
	if n.o.Pace(n.connection) <= 0 {
		return time.Second, campaign.Limit{By: campaign.ByLimiter,
			Detail: "the service cannot be asked for the pace and the tier of this number, so nothing is sent over it: " +
				"`campaignd doctor` says why; else set numbers.CONNECTION.rate, .tier and .company"}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.until.Sub(now), campaign.Limit{By: campaign.ByUnreachable, Detail: "the service cannot be reached"}
}

// A number whose service cannot be reached rests for unreachedRest, twice as long each time. After
// unreachedMost such rests the breaker opens.
const (
	unreachedRest = 500 * time.Millisecond
	unreachedMost = 3
)

// unreached notes that no connection could be made. It reports true when the number has rested for
// that often enough.
func (n *number) unreached(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.until.After(now) { // another post of the same moment
		return false
	}
	if n.downs == unreachedMost {
		return true
	}
	n.until = now.Add(unreachedRest << n.downs)
	n.downs++
	return false
}

// limiterFault is why the limiter gave no slot, and when.
type limiterFault struct {
	at  time.Time
	why string
}

// faultFor is how long a failure of the limiter counts: the poster asks it every 100 ms while
// there is something to send.
const faultFor = time.Second

// unasked notes that the limiter could not be asked. It reports false if it could not for the same
// reason before.
func (n *number) unasked(now time.Time, err error) (changed bool) {
	n.counts.noSlot.Add(1)
	why := "no send instant can be had, so nothing is sent: " + err.Error()
	n.mu.Lock()
	defer n.mu.Unlock()
	changed = n.noSlot.why != why
	n.noSlot = limiterFault{now, why}
	return changed
}

// asked notes that the limiter could be asked.
func (n *number) asked() {
	n.mu.Lock()
	n.noSlot = limiterFault{}
	n.mu.Unlock()
}

// limiterFailure is why the limiter cannot be asked; "": it can.
func (n *number) limiterFailure(now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.noSlot.at) > faultFor {
		return ""
	}
	return n.noSlot.why
}

// counts are what a number did since the engine started.
type counts struct {
	posted, accepted, refused, deferred, doubts,
	skipped, recovered, forfeited, throttled, noSlot atomic.Int64
	last atomic.Int64 // Unix nanoseconds of the last post, or of the beginning
}

func (c *counts) note(r campaign.Result) {
	switch r.Kind {
	case campaign.ResultAccepted:
		c.accepted.Add(1)
	case campaign.ResultRefused:
		c.refused.Add(1)
	case campaign.ResultDeferred:
		c.deferred.Add(1)
	case campaign.ResultDoubt:
		c.doubts.Add(1)
	}
}

// latency is an exponentially smoothed duration.
type latency struct{ ns atomic.Int64 }

func (l *latency) add(d time.Duration) {
	old := l.ns.Load()
	if old == 0 {
		l.ns.Store(int64(d))
		return
	}
	l.ns.Store(old + (int64(d)-old)/16) // a lost update under concurrency is only a sample less
}
