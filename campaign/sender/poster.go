package sender

import (
	"context"
	"errors"
	"math"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/mutant"
	"campaignd/internal/sentence"
	"campaignd/internal/tracing"
	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// poster gives each attempt of a number the next slot, and posts it.
type poster struct {
	e        *Engine
	number   *number
	queue    *queue
	inFlight flight
	posts    *pool
	// The goroutine of run alone uses the fields below.
	own     permissions
	stage   int64 // of the slots in hand
	stalled bool  // a post waited for its place, so the slots in hand are late for that
	pairs   pairs
}

func newPoster(e *Engine, n *number, q *queue) *poster {
	return &poster{e: e, number: n, queue: q, inFlight: newFlight(), posts: newPool(), own: permissions{}}
}

// run leases slots while attempts are queued, and posts an attempt in each slot, until ctx ends. A
// slot that is missed is forfeited, and its attempt takes the next slot. Slots that lie close
// together are all used at the instant of the last one. After run returns, posts may still be under
// way: see wait.
func (p *poster) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		most, wait := p.may(now)
		if most == 0 {
			p.await(ctx, wait)
			continue
		}
		n, wait := p.queue.next(now)
		if n == 0 {
			p.await(ctx, wait)
			continue
		}
		p.e.warm(ctx)
		slots, err := p.number.lease(ctx, p.e.limiter, min(n, most))
		if err != nil {
			p.unavailable(ctx, err, now)
			p.sleep(ctx, 100*time.Millisecond)
			continue
		}
		p.number.asked()
		if slots.N == 0 {
			p.sleep(ctx, max(slots.Wait, time.Millisecond))
			continue
		}
		p.stage = slots.Stage
		p.useAll(ctx, slots)
	}
}

// useAll posts an attempt in each of the slots, until one cannot be used.
func (p *poster) useAll(ctx context.Context, slots throttle.Slots) {
	last := -1 // of the slots that are used together
	p.stalled = false
	for i := range slots.N {
		if i > last {
			last = companion(slots, i, p.places())
		}
		p.askOwnRate(ctx, slots.N-i, time.Now())
		if !p.use(ctx, slots.At(i), slots.At(last)) {
			return
		}
	}
}

// unlimited is the result of may when a number may begin any number of posts.
const unlimited = math.MaxInt

// may is how many posts the number may begin now: none while it rests or is held, a few while its
// breaker is half-open. If most is 0, the caller waits until it is woken, and at most for wait if
// wait is above 0.
func (p *poster) may(now time.Time) (most int, wait time.Duration) {
	if rest, _ := p.number.rests(now); rest > 0 {
		return 0, rest
	}
	if h, held := p.e.heldBy(p.number.connection, nil, now); held {
		if h.Until.IsZero() {
			return 0, 0
		}
		return 0, h.Until.Sub(now)
	}
	state, b := p.e.circuit(p.number.connection, now)
	if state != halfOpen {
		return unlimited, 0
	}
	if r := p.number.probing.Load(); r != nil && r.name == probeName(p.number.connection, b) && now.Before(r.until) {
		most = max(testsOf(b)-int(p.number.probes.Load()), 0)
	}
	return most, probeAgain
}

// wait returns when no post is under way any more. It is called once, after run.
func (p *poster) wait() { p.posts.wait() }

// A slot waits up to coalesceWindow for the slots after it, so that one wake-up of the process
// sends several messages. A slot older than lateness is forfeited: that is looked at when an
// attempt is chosen for it, and again at the first byte of the request. That adds at most 3.5 % to
// a second; the pace keeps back at least 9.7 % (docs/limits.md#pace).
const (
	coalesceWindow = throughput.Together
	lateness       = throughput.Lateness
)

// companion is the index of the last of the slots that are used together, at the instant of that
// last one. The i-th is the first of them, and places bounds how many there are.
func companion(s throttle.Slots, i, places int) int {
	n := 1 + int(coalesceWindow/max(s.Interval, 1))
	return min(i+min(n, places), s.N) - 1
}

// use posts the next attempt in a slot, at the instant at, which is not before the slot. It reports
// false if the later slots of the lease cannot be used either.
func (p *poster) use(ctx context.Context, slot, at time.Time) bool {
	if !p.enter(ctx) {
		return false
	}
	if d := time.Until(at); d > 0 {
		p.sleep(ctx, d)
	}
	for {
		now := time.Now()
		if ctx.Err() != nil {
			p.inFlight.end()
			return false
		}
		if now.Sub(slot) > p.number.late() {
			p.inFlight.end()
			if p.stalled {
				p.number.counts.forfeited.Add(1)
			} else {
				p.number.missed(slot, now)
			}
			return true
		}
		if most, _ := p.may(now); most == 0 {
			p.inFlight.end()
			return false
		}
		a := p.queue.take(now, p.own)
		if a == nil {
			p.inFlight.end()
			return false
		}
		if p.withdrawn(a, now) {
			p.giveBack(a, notPosted(now))
			continue
		}
		if until := p.pairs.wait(a, now); !until.IsZero() {
			late := notPosted(now)
			late.NotBefore, late.Code = until, "pair_limit"
			p.giveBack(a, late)
			continue
		}
		a.stage, a.slot, a.until = p.stage, slot, p.own.until(a.segment.run, slot, p.number.late())
		state, b := p.e.holds.circuit(p.number.connection, now)
		t := p.number.circuit.ticket(b, state == halfOpen)
		if _, h := p.e.circuit(p.number.connection, now); h.Tried() {
			t.tried = h
		}
		tests := t.probe || t.tried.Tried()
		if tests {
			p.number.probes.Add(1)
		}
		p.posts.run(func() {
			p.send(ctx, a, t)
			if tests {
				p.number.probes.Add(-1)
			}
			p.inFlight.end()
		})
		return true
	}
}

// withdrawn reports whether an attempt with an intent must not be posted at now: its window has
// closed, its run is paused or over, a hold stops it, or its lease or its place in the tier runs
// out.
func (p *poster) withdrawn(a *attempt, now time.Time) bool {
	r := a.segment.run
	return r.paused.Load() || r.over() || !a.segment.mayPost(now, p.e.o.Lease/5) || p.stopped(r, now) ||
		!a.within.IsZero() && now.After(a.within)
}

// stopped reports whether a hold stops the run's messages over this connection.
func (p *poster) stopped(r *run, now time.Time) bool {
	_, held := p.e.heldBy(p.number.connection, r, now)
	return held
}

// await waits until an attempt is queued, at most for d; 0: without end.
func (p *poster) await(ctx context.Context, d time.Duration) {
	var due <-chan time.Time
	if d > 0 {
		t := time.NewTimer(p.number.jitter("slot", d))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-p.queue.added:
	case <-due:
	}
}

func (p *poster) sleep(ctx context.Context, d time.Duration) { sleep(ctx, p.number.jitter("slot", d)) }

// send makes the one POST of an attempt, hands the result to the recorder, and applies what the
// answer tells about more than this recipient (learn).
func (p *poster) send(ctx context.Context, a *attempt, t ticket) {
	r := a.segment.run
	m, err := r.render.Message(p.number.connection, r.asset(p.number.connection), &a.delivery)
	if err != nil {
		// The import rendered this row, so only another version of the program comes here. Nothing was
		// posted.
		p.e.rec.record(p.number, a, campaign.Result{
			Kind: campaign.ResultRefused, At: time.Now(), Code: "not_rendered", Detail: sentence.Clip(err.Error(), campaign.MaxDetail),
		})
		return
	}
	m.Before, m.Until, m.Written = p.leaving(a), a.until, &a.written
	if p.e.o.Mark != nil {
		m.Mark = p.e.o.Mark(campaign.Post{Run: a.delivery.Run, Seq: a.delivery.Seq, Attempt: a.nth})
	}
	posted := time.Now()
	ctx, span := tracing.Begin(ctx, "send", tracing.Fact{Key: "campaignd.run", Text: r.id},
		tracing.Fact{Key: "campaignd.connection", Text: p.number.connection}, tracing.Fact{Key: "campaignd.row", Count: a.delivery.Row})
	receipt, err := p.post(ctx, m)
	now := time.Now()
	p.number.arrived(a, now)
	if err != nil {
		e := fault(err)
		span.End(e.Code)
		if e.Proof == messaging.NotSent && e.Status == 0 {
			p.unnote(a)
		}
		if unposted(e) {
			if errors.Is(e, messaging.ErrLate) {
				p.number.missed(a.slot, now)
				if p.again(a) {
					return
				}
			} else {
				p.number.counts.forfeited.Add(1)
			}
			p.giveBack(a, notPosted(now))
			return
		}
		p.learn(a, t, e, posted, now)
		p.observe(a, e)
		state, _ := p.e.holds.circuit(p.number.connection, now)
		p.e.rec.record(p.number, a, a.classify(e, p.e.o.Backoff, t.probe || state != closed, p.number.accepted(r), now))
		return
	}
	span.End("")
	p.learn(a, t, nil, posted, now)
	p.observe(a, nil)
	p.e.rec.record(p.number, a, campaign.Result{
		Kind: campaign.ResultAccepted, At: now,
		MessageID: receipt.MessageID, Warning: receipt.Warning, RequestID: receipt.RequestID,
	})
}

// post makes one request, and measures it.
func (p *poster) post(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	mutant.Crash("before_post")
	// The post does not end with ctx, because a post that is cut off is a doubt.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.e.o.Request)
	defer cancel()
	p.number.counts.posted.Add(1)
	p.number.counts.last.Store(time.Now().UnixNano())
	began := time.Now()
	receipt, err := p.e.sender.Send(ctx, m)
	mutant.Crash("answer_read")
	if err == nil || fault(err).Status != 0 {
		took := time.Since(began) // a request without an answer does not tell how long an answer takes
		p.number.latency.add(took)
		p.e.times.add(took)
	}
	return receipt, err
}
