package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/mutant"
)

// fault is what went wrong with a post. An error that is not the client's own proves nothing.
func fault(err error) *messaging.Error {
	var e *messaging.Error
	if !errors.As(err, &e) {
		e = &messaging.Error{Proof: messaging.Doubt, Code: "error", Message: err.Error(), Err: err}
	}
	if mutant.On("time_out_is_refusal") && e.Proof == messaging.Doubt && e.Status == 0 ||
		mutant.On("5xx_is_refusal") && e.Proof == messaging.Doubt && e.Status >= 500 {
		e.Proof, e.Action = messaging.NotSent, messaging.RetryLater
	}
	return e
}

// classify is the result of an attempt whose post ended with e: doubt, a retry at its time, or
// the refusal of the recipient (docs/service.md#error-actions).
func (a *attempt) classify(e *messaging.Error, backoff time.Duration, now time.Time) campaign.Result {
	r := campaign.Result{At: now, Code: e.Code, Detail: clip(e.Message), RequestID: e.RequestID, TraceID: e.TraceID}
	if e.Proof == messaging.Doubt || e.Proof == messaging.DoubtNoID {
		r.Kind, r.NoResend = campaign.ResultDoubt, e.Proof == messaging.DoubtNoID
		return r
	}
	if scope := campaign.ScopeOf(e.Feed); scope != "" {
		sp := campaign.NewSuppression(a.delivery.Key, a.delivery.To, scope, "refused:"+e.Code, now)
		r.Suppress = &sp
	}
	later := func(d time.Duration) campaign.Result {
		r.Kind, r.NotBefore = campaign.ResultDeferred, now.Add(d)
		return r
	}
	switch e.Action {
	case messaging.Slow:
		return later(max(e.Wait, time.Second) + a.spread(time.Second))
	case messaging.WaitPair:
		// 6 s x 4^k, k <= 4 (docs/limits.md#pair-limit)
		k := min(a.number-1, 4)
		return later(6*time.Second<<(2*k) + a.spread(time.Second))
	case messaging.RetryLater:
		wait := e.Wait
		if e.Heal != messaging.HealNothing {
			wait = 0 // the hold keeps the delivery back, and may be lifted earlier
		}
		return later(max(wait, min(backoff<<min(a.number-1, 5), 5*time.Minute)) + a.spread(time.Second))
	case messaging.RetryOnce, messaging.RetryUnknown:
		tries := 1
		if e.Action == messaging.RetryUnknown {
			tries = 2
		}
		if a.tries < tries {
			r.Counts = true
			return later(backoff + a.spread(backoff))
		}
	}
	r.Kind = campaign.ResultRefused
	return r
}

// spread draws a wait below d from what it is about, so that retries do not come back together
// and a simulation repeats.
func (a *attempt) spread(d time.Duration) time.Duration {
	x := uint64(a.delivery.Run)<<32 ^ uint64(a.delivery.Seq)<<8 ^ uint64(a.number) //nolint:gosec // a hash, not an amount
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return time.Duration((x ^ x>>31) % uint64(d)) //nolint:gosec // below d
}

// pauseFor pauses the runs that a refusal says must stop until somebody resumes them.
func (p *poster) pauseFor(ctx context.Context, a *attempt, e *messaging.Error) {
	if e.Proof == messaging.Doubt || e.Proof == messaging.DoubtNoID {
		return
	}
	var reason campaign.PauseReason
	var match func(*run) bool
	this := a.segment.run
	switch e.Hold {
	case messaging.HoldNothing:
		this.breaker.note("")
		return
	case messaging.HoldPayload:
		if !this.breaker.note(e.Code) {
			return
		}
		reason, match = campaign.PausedByBreaker, func(r *run) bool { return r == this }
	case messaging.HoldConnection:
		if e.Wait > 0 { // the number rests, and then goes on
			return
		}
		reason, match = campaign.PausedByNumber, func(r *run) bool { return slices.Contains(r.connections, p.number.connection) }
	case messaging.HoldTemplate:
		reason, match = campaign.PausedByTemplate, func(r *run) bool { return r.template == this.template && r.language == this.language }
	case messaging.HoldCompany:
		reason, match = campaign.PausedByAccount, func(*run) bool { return true }
		if e.Heal == messaging.HealTime {
			reason = campaign.PausedByAllowance
		}
	case messaging.HoldAccount, messaging.HoldKey:
		reason, match = campaign.PausedByAccount, func(*run) bool { return true }
	}
	// The refusal is a fact although the engine is asked to stop: its pause is written.
	ctx = context.WithoutCancel(ctx)
	p.e.pause(ctx, p.e.activeRuns(match), reason, clip(fmt.Sprintf("connection %s: %v", p.number.connection, e)))
}

// clip keeps a detail within what the ledger stores.
func clip(s string) string {
	if len(s) > 300 {
		return s[:300]
	}
	return s
}
