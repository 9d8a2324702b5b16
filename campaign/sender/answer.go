package sender

import (
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// fault is the error of a post as a *messaging.Error. An error of another type proves nothing.
func fault(err error) *messaging.Error {
	var e *messaging.Error
	if !errors.As(err, &e) {
		e = &messaging.Error{Proof: messaging.Doubt, Code: "error", Message: err.Error(), Err: err}
	}
	return e
}

// unknownTries is how many tries a recipient gets whose answers are not known.
const unknownTries = 3

// forNowTries is how many tries a recipient gets whose refusals have an unknown code: 5 + 10 + 20 +
// 40 s of waiting, and up to 5 s more each.
const forNowTries = 5

// classify is the result of an attempt whose post ended with e: a doubt, a retry at a time, or the
// refusal of the recipient (docs/service.md#error-actions). breakerOpen means that the breaker is
// not closed; an unknown answer then counts as a fault of the connection, not as a try.
//
// accepted is when the last message with the template was posted over the connection that was
// accepted; zero: none was.
func (a *attempt) classify(e *messaging.Error, backoff time.Duration, breakerOpen bool, accepted, now time.Time) campaign.Result {
	r := campaign.Result{At: now, Code: e.Code, Detail: sentence.Clip(e.Message, campaign.MaxDetail),
		RequestID: e.RequestID, TraceID: e.TraceID}
	if e.Proof == messaging.Doubt || e.Proof == messaging.DoubtNoID {
		r.Kind, r.NoResend = campaign.ResultDoubt, e.Proof == messaging.DoubtNoID
		return r
	}
	if scope := campaign.ScopeOf(e.Feed); scope != "" {
		sp := campaign.NewSuppression(a.delivery.Key, a.delivery.To, scope, "refused:"+e.Code, now).
			Proven(campaign.Proof{Run: a.delivery.Run, Row: a.delivery.Row, Request: e.RequestID})
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
		k := min(a.nth-1, 4)
		return later(6*time.Second<<(2*k) + a.spread(time.Second))
	case messaging.RetryLater:
		return later(backoff + a.spread(time.Second)) // a hold stops the delivery for longer, and may be lifted earlier
	case messaging.RetryUnknown:
		if breakerOpen || a.tries < unknownTries-1 {
			r.Counts = !breakerOpen
			return later(backoff<<min(a.tries, 5) + a.spread(backoff))
		}
	case messaging.RefuseForNow:
		// Its last try was at least the wait before this one ago, so a later acceptance shows that the
		// template and the connection are not at fault.
		proven := a.tries > 0 && accepted.After(now.Add(-backoff<<(a.tries-1)))
		if a.tries < forNowTries-1 && !proven {
			r.Counts = true
			return later(backoff<<a.tries + a.spread(backoff))
		}
	case messaging.RetryOnce:
		if a.tries == 0 {
			r.Counts = true
			return later(backoff + a.spread(backoff))
		}
	}
	r.Kind = campaign.ResultRefused
	return r
}

// spread derives a wait below d from the delivery and the attempt, so that retries are spread and a
// simulation repeats.
func (a *attempt) spread(d time.Duration) time.Duration {
	x := uint64(a.delivery.Run)<<32 ^ uint64(a.delivery.Seq)<<8 ^ uint64(a.nth) //nolint:gosec // a hash, not an amount
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return time.Duration((x ^ x>>31) % uint64(d)) //nolint:gosec // below d
}

// learn applies what the answer to a post tells about more than its recipient: about the connection
// and its breaker, about the payload of the run, and about what a hold can name. e is nil after an
// acceptance; posted is when the request was sent.
func (p *poster) learn(a *attempt, t ticket, e *messaging.Error, posted, now time.Time) {
	n, r := p.number, a.segment.run
	n.answered(e)
	v, code := verdictOf(e), ""
	if e != nil {
		code = e.Code
	}
	switch n.circuit.observe(t, v, code, a.delivery.Key, a.tries > 0) {
	case closes:
		p.e.holds.lift(campaign.Lift{
			Scope: campaign.HoldConnection, ID: n.connection, Reason: breakerReason, At: now, By: campaign.HoldByBreaker,
		})
	case trips:
		p.trip(v, e, now)
	case stays:
		if v == unreachable && n.unreached(now) {
			p.trip(v, e, now)
		}
	}
	if e == nil {
		n.accepts(r, posted)
		if h := t.tried; h.Tried() {
			// A message that is accepted and fails later with the code holds again: it was accepted after
			// this time.
			p.e.holds.lift(campaign.Lift{Scope: h.Scope, ID: h.ID, Reason: h.Reason, At: posted, By: campaign.HoldByBreaker})
		}
	}
	switch {
	case e != nil && e.Proof != messaging.NotSent: // it tells nothing about the payload
	case e == nil || e.Hold == messaging.HoldNothing:
		r.breaker.note("")
	case e.Hold == messaging.HoldPayload && r.breaker.note(e.Code):
		p.e.pause(r, sentence.Clip(fmt.Sprintf("connection %s: %v", n.connection, e), campaign.MaxDetail))
	}
	if e == nil {
		return
	}
	if h, ok := campaign.RefusalHold(e, p.e.origin(n.connection, r), posted, now); ok {
		if h.Reason == messaging.PlanUsedUp && p.e.o.PlanEnds != nil {
			h.Until = p.e.o.PlanEnds(n.connection, now)
		}
		p.e.holds.add(h, now)
	}
}

// breakerReason is the reason of the hold of a connection's breaker.
const breakerReason = "breaker"

// trip opens the breaker of the connection.
func (p *poster) trip(v verdict, e *messaging.Error, now time.Time) {
	why := "most requests end without a clear answer"
	switch v {
	case unknown:
		why = "recipient after recipient gets an answer that the service's document does not name"
	case unreachable:
		why = "the service cannot be reached"
	}
	p.e.holds.add(campaign.Hold{
		Scope: campaign.HoldConnection, ID: p.number.connection, Reason: breakerReason,
		Detail: sentence.Clip(fmt.Sprintf("%s; the last: %v", why, e), campaign.MaxDetail), Source: campaign.HoldByBreaker, Since: now,
	}, now)
}
