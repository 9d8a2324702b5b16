package commerce

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace spaces the requests of a Client. A 429 halves its rate, at most once for all requests that
// were under way, and down to a 32nd; each other answer gives back a fiftieth of the configured
// rate (docs/commerce.md#repetition).
type pace struct {
	most    float64 // requests per second
	limiter *rate.Limiter
	log     *slog.Logger

	mu     sync.Mutex
	now    float64   // the present rate
	halved time.Time // the last time
	until  time.Time // no request before it: a Retry-After
}

func newPace(perSecond float64, log *slog.Logger) *pace {
	return &pace{most: perSecond, now: perSecond, limiter: rate.NewLimiter(rate.Limit(perSecond), 1), log: log}
}

// wait blocks until the next request may be made. It returns the error of ctx.
func (p *pace) wait(ctx context.Context) error {
	for {
		if err := sleep(ctx, time.Until(p.notBefore())); err != nil {
			return err
		}
		r := p.limiter.Reserve()
		if err := sleep(ctx, r.Delay()); err != nil {
			r.Cancel()
			return err
		}
		if time.Until(p.notBefore()) <= 0 { // another request may have met a 429 meanwhile
			return nil
		}
	}
}

func (p *pace) notBefore() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until
}

// throttled notes a 429 to a request that began at an instant, and its Retry-After.
func (p *pace) throttled(began time.Time, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(wait); until.After(p.until) {
		p.until = until
	}
	if !p.halved.IsZero() && !began.After(p.halved) {
		return
	}
	p.halved = time.Now()
	p.set(max(p.now/2, p.most/32))
	p.log.Info("the commerce platform asks for fewer requests", "rate", p.now)
}

// answered notes any other answer.
func (p *pace) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now < p.most {
		p.set(min(p.now+p.most/50, p.most))
	}
}

func (p *pace) set(perSecond float64) {
	p.now = perSecond
	p.limiter.SetLimit(rate.Limit(perSecond))
}

// current returns the present rate in requests per second.
func (p *pace) current() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// sleep blocks for d, or until ctx ends. It returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
