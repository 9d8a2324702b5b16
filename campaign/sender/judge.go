package sender

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/mutant"
)

// doubtHold is how long a number rests when 20 of its last 25 requests were doubts:
// a broken service would otherwise turn the whole list into doubts.
const doubtHold = 30 * time.Second

// judge turns a refusal or a fault into a result, and holds what else must stop.
func (p *pacer) judge(ctx context.Context, s *shot, e *messaging.Error, now time.Time) campaign.Result {
	r := campaign.Result{At: now, Code: e.Code, Detail: clip(e.Message), RequestID: e.RequestID, TraceID: e.TraceID}
	proof := e.Proof
	if mutant.On("time_out_is_refusal") && proof == messaging.Doubt && e.Status == 0 ||
		mutant.On("5xx_is_refusal") && proof == messaging.Doubt && e.Status >= 500 {
		proof = messaging.NotSent
		e.Action = messaging.RetryLater
	}
	switch proof {
	case messaging.Doubt:
		r.Kind = campaign.ResultDoubt
		if p.doubt.note("doubt") {
			p.hold(now.Add(doubtHold), binding{"doubt", "most requests end without a clear answer"})
			p.e.o.Log.Warn("number held: most requests end without a clear answer", "connection", p.connection, "code", e.Code, "for", doubtHold)
		}
		return r
	case messaging.DoubtNoID:
		r.Kind, r.NoResend = campaign.ResultDoubt, true
		return r
	}
	p.doubt.note("")
	if e.Status != 0 {
		p.reached()
		if e.Action != messaging.Slow {
			p.feed(now, 1, 0)
		}
	} else { // nobody answered: that says nothing of the rate
		p.unreached(now)
	}
	p.holdFor(ctx, s, e, now)
	if scope := campaign.ScopeOf(e.Feed); scope != "" {
		sp := campaign.NewSuppression(s.delivery.Key, s.delivery.To, scope, "refused:"+e.Code, now)
		r.Suppress = &sp
	}
	back := func(d time.Duration) campaign.Result {
		r.Kind, r.NotBefore = campaign.ResultDeferred, now.Add(d)
		return r
	}
	switch e.Action {
	case messaging.Slow:
		p.feed(now, 0, 1)
		p.counts.throttled.Add(1)
		return back(max(e.Wait, time.Second) + p.spread(s, time.Second))
	case messaging.WaitPair:
		// 6 s x 4^k, k <= 4 (throttle.md 7)
		k := min(s.attempt-1, 4)
		return back(6*time.Second<<(2*k) + p.spread(s, time.Second))
	case messaging.RetryLater:
		return back(max(e.Wait, min(p.e.o.Backoff<<min(s.attempt-1, 5), 5*time.Minute)) + p.spread(s, time.Second))
	case messaging.RetryOnce:
		if s.tries == 0 {
			r.Counts = true
			return back(p.e.o.Backoff + p.spread(s, p.e.o.Backoff))
		}
	}
	r.Kind = campaign.ResultRefused
	return r
}

// spread draws a wait below d from what it is about, so that retries do not come
// back together and a simulation repeats.
func (p *pacer) spread(s *shot, d time.Duration) time.Duration {
	x := uint64(s.delivery.Run)<<32 ^ uint64(s.delivery.Seq)<<8 ^ uint64(s.attempt) //nolint:gosec // a hash, not an amount
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return time.Duration((x ^ x>>31) % uint64(d)) //nolint:gosec // below d
}

// holdFor stops what the refusal says must stop: the number for a while, or runs
// until somebody resumes them.
func (p *pacer) holdFor(ctx context.Context, s *shot, e *messaging.Error, now time.Time) {
	all := func(*run) bool { return true }
	this := func(r *run) bool { return r == s.seg.run }
	var reason campaign.PauseReason
	match := this
	switch e.Hold {
	case messaging.HoldNothing:
		s.seg.run.breaker.note("")
		if e.Action == messaging.Slow && e.Wait > 0 {
			p.hold(now.Add(e.Wait), binding{"throttled", "the service asked to wait (" + e.Code + ")"})
		}
		return
	case messaging.HoldPayload:
		if !s.seg.run.breaker.note(e.Code) {
			return
		}
		reason = campaign.PausedByBreaker
	case messaging.HoldNumber:
		if e.Wait > 0 {
			p.hold(now.Add(e.Wait), binding{"throttled", "the service asked to wait (" + e.Code + ")"})
			return
		}
		reason = campaign.PausedByNumber
		match = func(r *run) bool { return slices.Contains(r.connections, p.connection) }
	case messaging.HoldTemplate:
		reason = campaign.PausedByTemplate
		match = func(r *run) bool { return r.template == s.seg.run.template && r.language == s.seg.run.language }
	case messaging.HoldAllowance:
		reason, match = campaign.PausedByAllowance, all
	case messaging.HoldAccount, messaging.HoldConfig:
		reason, match = campaign.PausedByAccount, all
	}
	p.e.pause(context.WithoutCancel(ctx), p.e.activeRuns(match), reason, clip(fmt.Sprintf("connection %s: %v", p.connection, e)))
}
