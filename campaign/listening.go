package campaign

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/internal/mutant"
)

// Span is the time from Since until Until, without Until itself.
type Span struct{ Since, Until time.Time }

// ListenLedger remembers when webhooks were taken, because the window of a doubt runs only then
// (docs/protocol.md#doubts).
type ListenLedger interface {
	// Listen records that webhooks were taken during s. A later call with the same Since prolongs it.
	// Spans of several processes may overlap.
	Listen(ctx context.Context, s Span) error
	// Listened returns the spans that end after a time, in any order.
	Listened(ctx context.Context, after time.Time) ([]Span, error)
}

const (
	// ListenEvery is how often a process that takes webhooks says so in the ledger.
	ListenEvery = 10 * time.Second
	// listenFresh is how old the last word may be of a process that still takes webhooks: three times
	// ListenEvery.
	listenFresh = 3 * ListenEvery
	// ListenKept is how long spans are kept: longer than the longest doubt window (72 h) and all
	// repetitions (8 h 36 min) together.
	ListenKept = 7 * 24 * time.Hour
)

// Repeats are the waits of a service between its tries to deliver one webhook.
type Repeats []time.Duration

// ServiceRepeats are those of the service (docs/service.md#delivery-of-events).
func ServiceRepeats() Repeats {
	return Repeats{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
}

// all is how long after its first try a webhook is tried last.
func (r Repeats) all() (sum time.Duration) {
	for _, d := range r {
		sum += d
	}
	return sum
}

// after returns how long after an outage of length d the service may still repeat what it tried
// meanwhile: the wait between two tries that the outage does not cover together with those before.
func (r Repeats) after(d time.Duration) (wait time.Duration) {
	var tried time.Duration
	for _, wait = range r {
		if tried += wait; d < tried {
			return wait
		}
	}
	return wait
}

// Listening says when webhooks were taken, as it was known at a time.
type Listening struct {
	now     time.Time
	spans   []Span // in their order, without overlap, none after now
	live    bool   // webhooks are taken now
	repeats Repeats
	gap     Span // the last time without webhooks of which repetitions may still come; zero: there is none
	due     time.Time
}

// NewListening makes a Listening of the spans that a ledger has. The time before the first span
// counts as no outage: nothing had been sent.
func NewListening(spans []Span, repeats Repeats, now time.Time) Listening {
	l := Listening{now: now, repeats: repeats}
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int { return a.Since.Compare(b.Since) })
	for _, s := range spans {
		switch n := len(l.spans); {
		case !s.Since.Before(now):
		case n > 0 && !s.Since.After(l.spans[n-1].Until):
			if s.Until.After(l.spans[n-1].Until) {
				l.spans[n-1].Until = s.Until
			}
		default:
			l.spans = append(l.spans, s)
		}
	}
	if n := len(l.spans); n > 0 && now.Sub(l.spans[n-1].Until) < listenFresh {
		l.spans[n-1].Until, l.live = now, true
	}
	for i, s := range l.spans[:max(0, len(l.spans)-1)] {
		l.outage(s.Until, l.spans[i+1].Since)
	}
	if n := len(l.spans); n > 0 && !l.live {
		l.outage(l.spans[n-1].Until, now)
	}
	return l
}

// ReadListening reads when webhooks were taken. No repeats mean ServiceRepeats.
func ReadListening(ctx context.Context, l ListenLedger, repeats Repeats, now time.Time) (Listening, error) {
	if repeats == nil {
		repeats = ServiceRepeats()
	}
	spans, err := l.Listened(ctx, now.Add(-ListenKept))
	if err != nil {
		return Listening{}, fmt.Errorf("read when webhooks were taken: %w", err)
	}
	return NewListening(spans, repeats, now), nil
}

// outage takes in the next time without webhooks. An outage that begins while repetitions of the
// one before are due may miss them too, so both count as one.
func (l *Listening) outage(since, until time.Time) {
	if !l.gap.Since.IsZero() && since.Before(l.due) {
		since = l.gap.Since
	}
	l.gap = Span{since, until}
	l.due = until.Add(l.repeats.after(until.Sub(since)))
}

// Ends returns when the window of a doubt that began at since is over, if webhooks are taken from
// now on: after as much time in which they were taken, and not before the repetitions of an outage
// have come. At the latest, it is over when the service has given up as well.
func (l Listening) Ends(since time.Time, window time.Duration) time.Time {
	latest := since.Add(window + l.repeats.all())
	ends, rest := time.Time{}, window
	for _, s := range l.spans {
		if since.After(s.Since) {
			s.Since = since
		}
		d := s.Until.Sub(s.Since)
		if d <= 0 {
			continue
		}
		if d >= rest {
			ends = s.Since.Add(rest)
			rest = 0
			break
		}
		rest -= d
	}
	if rest > 0 {
		ends = l.now
		if since.After(ends) {
			ends = since
		}
		ends = ends.Add(rest)
	}
	if since.Before(l.gap.Until) && l.due.After(ends) {
		ends = l.due
	}
	if latest.Before(ends) {
		return latest
	}
	return ends
}

// Over returns when the doubts began whose window is over now.
func (l Listening) Over(window time.Duration) []Span {
	if mutant.On("window_unheard") {
		return []Span{{Until: l.now.Add(-window)}}
	}
	givenUp := Span{Until: l.now.Add(-window - l.repeats.all())}
	var since time.Time
	if l.due.After(l.now) {
		since = l.gap.Until
	}
	rest := window
	for _, s := range slices.Backward(l.spans) {
		if d := s.Until.Sub(s.Since); d < rest {
			rest -= d
			continue
		}
		until := s.Until.Add(-rest)
		switch {
		case !until.After(since) || !until.After(givenUp.Until):
		case since.After(givenUp.Until):
			return []Span{givenUp, {since, until}}
		default:
			return []Span{{Until: until}}
		}
		break
	}
	return []Span{givenUp}
}

// firstWebhook is how long after a message its first webhook is tried, with much to spare: an
// outage that begins later delays no proof.
const firstWebhook = 10 * time.Minute

// Due returns until when the service may still deliver the first webhook about a message that was
// sent at since; zero: it would have been taken by now.
func (l Listening) Due(since time.Time) time.Time {
	last := since.Add(l.repeats.all())
	switch {
	case !l.now.Before(last):
	case len(l.spans) == 0:
		return last
	case !l.gap.Since.Before(since.Add(firstWebhook)) || !since.Before(l.gap.Until) || !l.due.After(l.now):
	case l.live && l.due.Before(last):
		return l.due
	default:
		return last
	}
	return time.Time{}
}
