package sender

import (
	"context"
	"sync/atomic"
	"time"

	"campaignd/internal/messaging"
	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// learning is what a number learns of the pace that it may send at
// (docs/limits.md#a-pace-that-learns).
type learning struct {
	measure throughput.Measure
	refused atomic.Int64 // Unix nanoseconds of the last answer that throttled; 0: none
	learned atomic.Pointer[throughput.Learned]
	shared  time.Time // when it was computed last; of the poster's goroutine
}

// shareEvery is how often a number that sends shares what it measured, and computes its pace.
const shareEvery = time.Second

// ceiling is the pace of the number, in messages per second: the one that is learned, else the one
// of the options. The limiter may lower it. 0: it is not known.
func (n *number) ceiling() float64 {
	pace := n.o.Pace(n.connection)
	if l := n.learned.Load(); l != nil && pace > 0 {
		return l.Rate
	}
	return pace
}

// late is how old a slot may be when it is used.
func (n *number) late() time.Duration {
	if l := n.learned.Load(); l != nil {
		return l.Late
	}
	return lateness
}

// learn computes the pace anew, once a second. While the limiter cannot be asked, the number has
// the pace that nothing measured gives: then it gets no slots either.
func (n *number) learn(ctx context.Context, l throttle.Limiter) {
	now := time.Now()
	sharer, ok := l.(throttle.Sharer)
	if !ok || n.o.Limit == nil || now.Sub(n.shared) < shareEvery {
		return
	}
	n.shared = now
	own := n.measure.Report()
	if at := n.refused.Load(); at > 0 {
		own.Refused = time.Unix(0, at).UTC()
	}
	all, err := sharer.Share(ctx, n.connection, own)
	if err != nil {
		all = throughput.Measured{}
	}
	learned := n.o.Limit(n.connection).Learn(all, now)
	n.learned.Store(&learned)
}

// arrived notes how long a message took from its slot to its answer, or to the end of its time.
func (n *number) arrived(a *attempt, now time.Time) {
	if n.o.Limit != nil && !a.written.IsZero() {
		n.measure.Sent(a.slot, a.written, now)
	}
}

// missed notes a slot that was too old to be used.
func (n *number) missed(slot, now time.Time) {
	n.counts.forfeited.Add(1)
	if n.o.Limit != nil {
		n.measure.Missed(now.Sub(slot))
	}
}

// observe tells the limiter whether the service throttled the message. A request without an answer,
// or in doubt, tells nothing. A refusal other than throttling counts like an acceptance. e is nil
// after an acceptance.
func (p *poster) observe(a *attempt, e *messaging.Error) {
	if e != nil && (e.Proof != messaging.NotSent || e.Status == 0) {
		return
	}
	throttled := e != nil && e.Action == messaging.Slow
	if throttled {
		p.number.refused.Store(time.Now().UnixNano())
	}
	p.e.limiter.Observe(p.number.connection, a.stage, throttled)
}
