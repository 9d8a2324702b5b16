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
	doubts     breaker // most answers prove nothing: the service is broken

	mu     sync.Mutex
	part   float64   // of the configured pace that the limiter granted last
	downs  int       // consecutive holds because the service could not be reached
	noSlot refused   // the limiter cannot be asked
	until  time.Time // the whole number is held until then
	why    limitedBy // by this
}

func newNumber(connection string, o Options) *number {
	return &number{connection: connection, o: o, part: 1}
}

// jitter changes a wait as the options say; each connection draws its own.
func (n *number) jitter(purpose string, d time.Duration) time.Duration {
	return n.o.Jitter(n.connection+" "+purpose, d)
}

// pace is the rate now, in messages per second: the configured pace, lowered while the service
// throttles the number (docs/limits.md#slowing-down); 0 while the pace is not known.
func (n *number) pace() float64 {
	ceiling := n.o.Pace(n.connection)
	if ceiling <= 0 {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.part * ceiling
}

// lease asks for slots: the limiter lowers the pace by what all replicas heard of the service.
func (n *number) lease(ctx context.Context, l throttle.Limiter, want int) (throttle.Slots, error) {
	ceiling := n.o.Pace(n.connection)
	// 200 ms of work a lease, so that a message costs a fraction of a call (docs/limits.md#measured).
	slots, err := l.Lease(ctx, n.connection, ceiling, min(want, int(min(max(n.pace()/5, 1), 200))))
	if err == nil {
		n.mu.Lock()
		n.part = slots.Rate / ceiling
		n.mu.Unlock()
	}
	return slots, err
}

// accepted notes that the service took a message.
func (n *number) accepted() {
	n.reached()
	n.doubts.note("")
}

// failed notes what an error of a post says of the number, whichever recipient the message was for.
func (n *number) failed(e *messaging.Error, now time.Time) {
	switch e.Proof {
	case messaging.Doubt:
		if n.doubts.note("doubt") {
			n.hold(now.Add(doubtHold), limitedBy{"doubt", "most requests end without a clear answer"})
			n.o.Log.Warn("number held: most requests end without a clear answer",
				"connection", n.connection, "code", e.Code, "for", doubtHold)
		}
		return
	case messaging.DoubtNoID:
		return
	}
	n.doubts.note("")
	if e.Status == 0 { // no answer: that says nothing of the rate
		if e.Action == messaging.RetryLater { // else the client refused the message itself
			n.unreached(now)
		}
		return
	}
	n.reached()
	if e.Wait > 0 && (e.Hold == messaging.HoldConnection || e.Hold == messaging.HoldNothing && e.Action == messaging.Slow) {
		n.hold(now.Add(e.Wait), limitedBy{"throttled", "the service asked to wait (" + e.Code + ")"})
	}
	if e.Action == messaging.Slow {
		n.counts.throttled.Add(1)
	}
}

// doubtHold is how long a number rests when 20 of its last 25 requests were doubts: a broken
// service would otherwise turn the whole list into doubts.
const doubtHold = 30 * time.Second

// hold stops the whole number until then.
func (n *number) hold(until time.Time, why limitedBy) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if until.After(n.until) {
		n.until, n.why = until, why
	}
}

// heldFor is how long the number is still held, and by what; 0 or less: it is not held.
func (n *number) heldFor(now time.Time) (time.Duration, limitedBy) {
	if n.o.Pace(n.connection) <= 0 {
		return time.Second, limitedBy{"limiter", "the service cannot be asked how fast this number may send, so nothing is sent over it"}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.until.Sub(now), n.why
}

// unreached notes that no connection could be made: the number waits 0.5 s, then twice as long each
// time, at most 30 s, so that an outage does not burn through the list.
func (n *number) unreached(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.until.After(now) {
		return
	}
	wait := min(500*time.Millisecond<<min(n.downs, 6), 30*time.Second)
	n.until, n.why = now.Add(wait), limitedBy{"unreachable", "the service cannot be reached"}
	n.downs++
}

// reached notes that the service answered.
func (n *number) reached() {
	n.mu.Lock()
	n.downs = 0
	n.mu.Unlock()
}

// refused is why the limiter gave no slot, and when.
type refused struct {
	at  time.Time
	why string
}

// refusedFor is how long a failure of the limiter counts: the poster asks it every 100 ms while
// there is something to send.
const refusedFor = time.Second

// unasked notes that the limiter could not be asked.
func (n *number) unasked(now time.Time, err error) {
	n.counts.noSlot.Add(1)
	n.mu.Lock()
	n.noSlot = refused{now, "no send instant can be had, so nothing is sent: " + err.Error()}
	n.mu.Unlock()
}

// answered notes that the limiter could be asked.
func (n *number) answered() {
	n.mu.Lock()
	n.noSlot = refused{}
	n.mu.Unlock()
}

// limiterFailure is why the limiter cannot be asked; "": it can.
func (n *number) limiterFailure(now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.noSlot.at) > refusedFor {
		return ""
	}
	return n.noSlot.why
}

// counts are what a number did since the engine started.
type counts struct {
	posted, accepted, refused, deferred, doubts,
	skipped, recovered, forfeited, throttled, noSlot atomic.Int64
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
