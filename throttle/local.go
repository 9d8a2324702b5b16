package throttle

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Local paces the keys of one process. Each key is a rate.Limiter of burst 1: the first slot is
// now, the others follow evenly, and idle time earns no credit. Two processes that each have a
// Local send twice the rate together: use Redis to share a number.
//
// It fails only with ErrLease or the context's error. It keeps nothing across a restart. That is
// safe: the process that died had leased at most Horizon ahead, and a daemon needs longer than
// that to start and lease again.
type Local struct {
	mu   sync.Mutex // one for all keys: a call takes less than a microsecond
	keys map[string]*pacing
	// arrivals are the theoretical arrival times of the keys that Allow is asked for.
	arrivals map[string]time.Time
	// feedback is what the service answered to the messages of each key.
	feedback map[string]*feedback
	// quotas are the counts of the quotas that Take is asked for.
	quotas map[string]*quotaState
	// traffic is what came in over each key.
	traffic map[string]*traffic
	sweep   time.Time // when idle keys were last forgotten
	base    time.Time // monotonic; the multiplier's clock is the time since then
}

// pacing is the state of one key.
type pacing struct {
	limiter *rate.Limiter
	every   time.Duration // between two slots, at the limiter's rate
	from    time.Time     // the limiter starts here, where the slots of the previous rate end
	next    time.Time     // one interval after the last slot
}

var (
	_ Limiter = (*Local)(nil)
	_ Counter = (*Local)(nil)
)

// NewLocal returns a limiter for one process.
func NewLocal() *Local {
	return &Local{keys: make(map[string]*pacing), arrivals: make(map[string]time.Time), feedback: make(map[string]*feedback),
		quotas: make(map[string]*quotaState), traffic: make(map[string]*traffic), base: time.Now()}
}

// Lease hands out slots as Limiter says. A key that was idle for a minute is forgotten; that
// changes nothing, since a new key starts without a burst.
func (l *Local) Lease(ctx context.Context, key string, perSecond float64, n int) (Slots, error) {
	every, err := interval(key, perSecond, n)
	if err != nil {
		return Slots{}, err
	}
	if err := ctx.Err(); err != nil {
		return Slots{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now() // under the lock, so that it never goes back
	l.forget(now)
	f := l.feedbackOf(key)
	part, stage := f.adapt(now.Sub(l.base), perSecond)
	f.asked = now
	every = stretch(every, part)
	p := l.keys[key]
	switch {
	case p == nil:
		p = &pacing{}
		l.keys[key] = p
		p.start(every)
	case p.every != every:
		p.start(every)
	}
	s := p.lease(now, n)
	s.Rate, s.Stage = part*perSecond, stage
	return s, nil
}

// Observe notes an answer as Limiter says.
func (l *Local) Observe(key string, stage int64, throttled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.feedbackOf(key).answers.note(stage, throttled)
}

// feedback is what the answers of the service say of the rate of a key.
type feedback struct {
	answers answers
	cubic   *cubic // nil until the service throttles
	asked   time.Time
}

func (l *Local) feedbackOf(key string) *feedback {
	f := l.feedback[key]
	if f == nil {
		f = &feedback{asked: time.Now()}
		l.feedback[key] = f
	}
	return f
}

// adapt takes the answers and returns the part of the ceiling to send at, and its stage.
func (f *feedback) adapt(now time.Duration, ceiling float64) (part float64, stage int64) {
	a, at := f.answers.take(), float64(1+now.Microseconds()) // stage 0 is before any
	if f.cubic == nil {
		if a.throttled+a.lateThrottled == 0 {
			return 1, 0
		}
		f.cubic = newCubic(at, 1)
	}
	f.cubic.observe(at, ceiling, a)
	f.answers.turnTo(f.cubic.stage)
	return f.cubic.multiplier(ceiling), int64(f.cubic.stage)
}

// start begins a new rate with a new limiter that starts where the slots of the old one end.
// SetLimit does not work here, since it keeps the old rate's debt in tokens: a number slowed from
// 1,000 to 20 a second would be silent for 12 seconds, and a faster one would send at both rates.
func (p *pacing) start(every time.Duration) {
	p.every, p.from = every, p.next
	p.limiter = rate.NewLimiter(rate.Limit(float64(time.Second)/float64(every)), 1)
}

// lease takes up to n slots. The limiter counts in floating point, but slots lie on whole
// nanoseconds, so the instant is rounded. Truncation, as in a Reservation, would sometimes be a
// nanosecond too early: an 81st message in a second of 80.
func (p *pacing) lease(now time.Time, n int) Slots {
	at := now
	if at.Before(p.from) {
		at = p.from
	}
	first := at
	if owed := 1 - p.limiter.TokensAt(at); owed > 0 {
		first = at.Add(time.Duration(math.Round(owed * float64(p.every))))
	}
	k := fit(first, now, p.every, n)
	if k == 0 {
		return Slots{Interval: p.every, Wait: first.Sub(now) - Horizon}
	}
	// A limiter reserves at most its burst at once. The higher burst lasts for this one call: it
	// reserves k slots in a constant number of steps and gives no token away.
	p.limiter.SetBurstAt(at, k)
	p.limiter.ReserveN(at, k)
	p.limiter.SetBurstAt(at, 1)
	p.next = first.Add(time.Duration(k) * p.every)
	return Slots{First: first, Interval: p.every, N: k}
}

// forget runs once a minute and drops the keys whose next slot has been free for a minute.
func (l *Local) forget(now time.Time) {
	if now.Sub(l.sweep) < forgetAfter {
		return
	}
	l.sweep = now
	for key, p := range l.keys {
		if now.Sub(p.next) > forgetAfter {
			delete(l.keys, key)
		}
	}
	for key, f := range l.feedback {
		if now.Sub(f.asked) > forgetRateAfter {
			delete(l.feedback, key)
		}
	}
	for key, t := range l.traffic {
		if now.Sub(t.heard) > inboundFor {
			delete(l.traffic, key)
		}
	}
	for key, tat := range l.arrivals {
		if now.Sub(tat) > forgetAfter {
			delete(l.arrivals, key)
		}
	}
}
