package plan

import (
	"math"
	"time"

	"campaignd/campaign"
)

// reachFor is the time for which a recipient takes a place of a tier, in seconds.
const reachFor = float64(campaign.ReachFor / time.Second)

// shortest is the shortest time in which places become free, in seconds. The places of people who
// were reached at one instant become free over this time.
const shortest = 1.0

// places are the places of a tier as a fluid: places taken at a rate become free at that rate.
type places struct {
	limit float64 // +Inf: unlimited
	used  float64
	spans []freeing // in the order of time, without overlap
	first int       // the first span that is not over
}

// freeing is a span of time, in seconds, in which places become free at a rate.
type freeing struct{ from, to, rate float64 }

func newPlaces(t Tier, now time.Time) places {
	p := places{limit: math.Inf(1)}
	if t.Limit > 0 {
		p.limit = float64(t.Limit)
	}
	for _, r := range t.Reached {
		// A clock that is ahead of now counts as now: later spans begin reachFor from now.
		from, to := min(r.From.Sub(now).Seconds(), 0)+reachFor, min(r.To.Sub(now).Seconds(), 0)+reachFor
		n := float64(r.N)
		if to <= shortest || n <= 0 {
			continue
		}
		if from < 0 {
			n, from = n*to/(to-from), 0
		}
		p.used += n
		last := len(p.spans) - 1
		switch {
		case to-from >= shortest:
			p.spans = append(p.spans, freeing{from, to, n / (to - from)})
		case last >= 0 && p.spans[last].to > to-shortest: // one span for both
			s := &p.spans[last]
			n += s.rate * (s.to - s.from)
			s.to, s.rate = to, n/(to-s.from)
		default:
			p.spans = append(p.spans, freeing{to - shortest, to, n / shortest})
		}
	}
	return p
}

// free is the rate at which places become free at a time, and when that changes.
func (p *places) free(at float64) (rate, until float64) {
	for p.first < len(p.spans) && p.spans[p.first].to <= at {
		p.first++
	}
	if p.first == len(p.spans) {
		return 0, math.Inf(1)
	}
	if s := p.spans[p.first]; s.from <= at {
		return s.rate, s.to
	}
	return 0, p.spans[p.first].from
}

// full reports whether no place is free.
func (p *places) full() bool { return p.used >= p.limit-1e-6 }

// take reaches people at a rate from at on for dt seconds.
func (p *places) take(at, dt, rate, free float64) {
	p.used = math.Max(p.used+(rate-free)*dt, 0)
	if rate <= 0 {
		return
	}
	from := at + reachFor
	if n := len(p.spans); n > p.first && math.Abs(p.spans[n-1].to-from) < 1e-6 && math.Abs(p.spans[n-1].rate-rate) < 1e-9*rate {
		p.spans[n-1].to = from + dt
		return
	}
	p.spans = append(p.spans, freeing{from, from + dt, rate})
}

// budget is a number of messages until a time, and what follows it: an allowance or a warm-up ramp.
type budget struct {
	left    float64
	reserve float64
	until   float64 // +Inf: it is never renewed
	next    func(at float64) (messages, until float64)
}

// renew begins the next periods whose time has come.
func (b *budget) renew(at float64) {
	for b.next != nil && b.until <= at+1e-9 {
		b.left, b.until = b.next(b.until)
	}
}

// of is what a run may use of it.
func (b *budget) of(marketing bool) float64 {
	if marketing {
		return b.left - b.reserve
	}
	return b.left
}

func newAllowance(q Quota, now time.Time) budget {
	b := budget{left: math.Inf(1), until: math.Inf(1)}
	if q.Messages <= 0 {
		return b
	}
	b.left, b.reserve = float64(q.Messages-q.Used), float64(q.Kept())
	_, to := q.Period(now)
	b.until = seconds(to, now)
	b.next = func(at float64) (float64, float64) {
		_, to := q.Period(instantAt(now, at))
		return float64(q.Messages), seconds(to, now)
	}
	return b
}

func newRamp(n Number, now time.Time) *budget {
	if n.Ramp == nil {
		return nil
	}
	first := RampDay(now)
	period := func(at float64) (float64, float64) {
		t := instantAt(now, at)
		_, to := RampPeriod(t)
		return float64(n.Ramp.On(n.RampState, RampDay(t)-first, n.Quality)), seconds(to, now)
	}
	b := &budget{next: period}
	b.left, b.until = period(0)
	b.left -= float64(n.Ramped)
	return b
}

// seconds is how long after now a time is; +Inf for the zero time.
func seconds(t, now time.Time) float64 {
	if t.IsZero() {
		return math.Inf(1)
	}
	return t.Sub(now).Seconds()
}

// instantAt is the time some seconds after now, to the nanosecond.
func instantAt(now time.Time, s float64) time.Time {
	whole, part := math.Modf(s)
	return now.Add(time.Duration(whole) * time.Second).Add(time.Duration(math.Round(part * 1e9)))
}
