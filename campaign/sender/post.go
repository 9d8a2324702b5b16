package sender

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/mutant"
	"campaignd/throttle"
)

// post is the poster: it leases slots while there are shots, sleeps to each
// instant and posts. A slot that passed is forfeited; the shot takes the next.
// Slots that lie close to each other are used at the last one's instant.
func (p *pacer) post(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if held, _ := p.heldFor(now); held > 0 {
			p.rest(now)
			p.sleep(ctx, held)
			continue
		}
		n, wait := p.queue.next(now)
		if n == 0 {
			p.rest(now)
			p.await(ctx, wait)
			continue
		}
		rate := p.pace()
		// 200 ms of work a lease: 0.01 to 0.6 calls per message (throttle.md 4.1).
		slots, err := p.e.limiter.Lease(ctx, p.connection, rate, min(n, int(min(max(rate/5, 1), 200))))
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, throttle.ErrUnavailable) {
				p.e.o.Log.Error("no slot", "connection", p.connection, "err", err)
			}
			p.unasked(now, err)
			p.rest(now)
			p.sleep(ctx, 100*time.Millisecond)
			continue
		}
		p.answered()
		p.work(now)
		if slots.N == 0 {
			p.sleep(ctx, max(slots.Wait, time.Millisecond))
			continue
		}
		for i := range slots.N {
			if !p.shoot(ctx, slots.At(i), slots.At(companion(slots, i))) {
				break
			}
		}
	}
}

// together is how long a slot waits for those behind it, so that one wake-up of the process sends several messages. lateness is how
// late a slot may be used for that and by a late wake-up: far less than the factor of the pace is kept for.
const (
	together = 15 * time.Millisecond
	lateness = throttle.Lateness + together
)

// companion is the last slot of a lease that is used together with the i-th.
func companion(s throttle.Slots, i int) int {
	n := 1 + int(together/max(s.Interval, 1)) // slots that share an instant
	return min(i-i%n+n, s.N) - 1
}

// shoot uses one slot, at an instant that is not before it. It reports false when the rest of the lease is useless.
func (p *pacer) shoot(ctx context.Context, slot, at time.Time) bool {
	select {
	case p.inFlight <- struct{}{}:
	default: // the service stalls: wait for an answer, and forfeit the slots that pass meanwhile
		p.rest(time.Now())
		select {
		case p.inFlight <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	if d := time.Until(at); d > 0 {
		p.sleep(ctx, d)
	}
	for {
		now := time.Now()
		if ctx.Err() != nil || now.Sub(slot) > lateness {
			<-p.inFlight
			p.counts.forfeited.Add(1)
			return ctx.Err() == nil
		}
		s := p.queue.take(now)
		if s == nil {
			<-p.inFlight
			return false
		}
		if p.queue.due(now.Add(p.e.o.Group)) == int(p.low.Load()) { // little is left: the planner commits the next group now
			p.wake()
		}
		if s.seg.run.held.Load() || s.seg.run.over() || !s.seg.mayPost(now, p.e.o.Lease/5) {
			p.settle(s, notPosted(s, p.connection, now, "held"))
			continue
		}
		if r := s.seg.run; r.rate > 0 && (!s.slotted || now.Sub(s.notBefore) > p.capLateness()) {
			p.reslot(ctx, s, now)
			continue
		}
		p.posts.Go(func() {
			p.send(ctx, s)
			<-p.inFlight
		})
		return true
	}
}

// capLateness is how late a shot may use its slot of the run's own cap: it waits for
// the number's next slot too.
func (p *pacer) capLateness() time.Duration {
	return lateness + time.Duration(float64(time.Second)/p.pace())
}

// reslot gives a shot the next slot of its run's own cap, because the one it had passed while
// the number was held: what was held up does not come out at once.
func (p *pacer) reslot(ctx context.Context, s *shot, now time.Time) {
	leased, err := p.e.limiter.Lease(ctx, "run:"+s.seg.run.id, s.seg.run.rate, 1)
	switch {
	case err != nil:
		s.slotted, s.notBefore = false, now.Add(100*time.Millisecond)
	case leased.N == 0:
		s.slotted, s.notBefore = false, now.Add(max(leased.Wait, time.Millisecond))
	default:
		s.slotted, s.notBefore = true, leased.First
	}
	p.queue.push([]*shot{s})
}

// await waits until a shot is queued, and no longer than until the first timed one is due; 0: there is none.
func (p *pacer) await(ctx context.Context, d time.Duration) {
	var due <-chan time.Time
	if d > 0 {
		t := time.NewTimer(p.jitter("slot", d))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-p.queue.wake:
	case <-due:
	}
}

func (p *pacer) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(p.jitter("slot", d))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// send makes the one POST of a shot and settles what it proved.
func (p *pacer) send(ctx context.Context, s *shot) {
	m, err := s.seg.run.render.Message(p.connection, s.seg.run.asset, &s.delivery)
	if err != nil {
		// The import rendered this row; only a changed program can come here. Nothing was posted.
		p.settle(s, campaign.Result{Kind: campaign.ResultRefused, At: time.Now(), Code: "not_rendered", Detail: clip(err.Error())})
		return
	}
	mutant.Crash("before_post")
	// A post goes on when the engine is asked to stop: cutting it would make a doubt.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.e.o.Request)
	began := time.Now()
	p.counts.posted.Add(1)
	receipt, err := p.e.sender.Send(ctx, m)
	cancel()
	mutant.Crash("answer_read")
	now := time.Now()
	p.latency.add(now.Sub(began))
	if err == nil {
		p.feed(now, 1, 0)
		p.reached()
		p.doubt.note("")
		s.seg.run.breaker.note("")
		p.settle(s, campaign.Result{Kind: campaign.ResultAccepted, At: now, MessageID: receipt.MessageID, Warning: receipt.Warning, RequestID: receipt.RequestID})
		return
	}
	var e *messaging.Error
	if !errors.As(err, &e) {
		e = &messaging.Error{Proof: messaging.Doubt, Code: "error", Message: err.Error(), Err: err}
	}
	p.settle(s, p.judge(ctx, s, e, now))
}

// settle completes a result and hands it to the recorder.
func (p *pacer) settle(s *shot, r campaign.Result) {
	r.Run, r.Seq, r.Key = s.delivery.Run, s.delivery.Seq, s.delivery.Key
	r.Connection, r.Attempt = p.connection, s.attempt
	r.IntentAt, r.Epoch = s.intentAt, s.seg.claimed.Epoch
	p.counts.note(r)
	p.e.rec.put(settled{result: r, seg: s.seg, pacer: p})
}

// durable is called by the recorder once a result is committed.
func (p *pacer) durable(s *segment, r campaign.Result) {
	if r.Kind == campaign.ResultDeferred {
		s.due(r.NotBefore)
	}
	if s.pending.Add(-1) == 0 || r.Kind == campaign.ResultDeferred {
		p.wake()
	}
}

// notPosted is the fact that a shot was not posted: the delivery is queued again.
func notPosted(s *shot, connection string, now time.Time, why string) campaign.Result {
	return campaign.Result{Kind: campaign.ResultDeferred, Connection: connection, At: now, NotBefore: now, Code: why}
}

// clip keeps a detail within what the ledger stores.
func clip(s string) string {
	if len(s) > 300 {
		return s[:300]
	}
	return s
}
