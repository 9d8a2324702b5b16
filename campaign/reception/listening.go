package reception

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Span is the time from Since to Until; Until itself is not in it.
type Span struct{ Since, Until time.Time }

// ListenLedger remembers when webhooks were taken, because the window of a doubt runs only then
// (docs/protocol.md#doubts).
type ListenLedger interface {
	// Listen records that webhooks were taken during s. A later call with the same Since prolongs it.
	// Spans of several processes may overlap.
	Listen(ctx context.Context, s Span) error
	// Listened returns the spans that end after a time, in any order.
	Listened(ctx context.Context, after time.Time) ([]Span, error)
	// NoteReplay records that the service was asked at a time to post the events of s again, and said
	// that these are so many deliveries. It counts for the lost times that s covers. A zero time
	// records that it will be asked: what came before is not counted then.
	NoteReplay(ctx context.Context, s Span, asked time.Time, deliveries int64) error
	// CountReplayed adds n deliveries to those that came for the lost time of the quarantine at.
	CountReplayed(ctx context.Context, at time.Time, n int64) error
	// LostTimes returns the lost times, the newest first.
	LostTimes(ctx context.Context) ([]LostTime, error)
}

const (
	// ListenEvery is how often a process that takes webhooks says so in the ledger.
	ListenEvery = 10 * time.Second
	// listenFresh is how old the last span may be while its process counts as taking webhooks: three
	// times ListenEvery.
	listenFresh = 3 * ListenEvery
	// ListenKept is how long spans are kept. 168 h: more than the longest doubt window (72 h) and all
	// repetitions (8 h 36 min) together.
	ListenKept = 7 * 24 * time.Hour
)

// Repeats are the waits between the service's tries to deliver one webhook.
type Repeats []time.Duration

// ServiceRepeats are the waits of the real service (docs/service.md#delivery-of-events).
func ServiceRepeats() Repeats {
	return Repeats{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
}

// all is the time from the first try of a webhook to its last.
func (r Repeats) all() (sum time.Duration) {
	for _, d := range r {
		sum += d
	}
	return sum
}

// after returns how long after an outage of length d a webhook that was tried during the outage may
// still come: at most the wait after the last try that the outage can have covered.
func (r Repeats) after(d time.Duration) (wait time.Duration) {
	var tried time.Duration
	for _, wait = range r {
		if tried += wait; d < tried {
			return wait
		}
	}
	return wait
}

// Listening tells when webhooks were taken, as known at one time.
type Listening struct {
	now     time.Time
	spans   []Span // in the order of time, without overlap, none after now
	live    bool   // webhooks are taken now
	repeats Repeats
	gap     Span      // the last outage: no process took webhooks; zero: there was none
	due     time.Time // until when webhooks of the outage may be repeated
	lost    []LostTime
}

// NewListening makes a Listening of the spans that a ledger has. The time before the first span is
// no outage, because nothing had been sent.
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

// ReadListening reads when webhooks were taken. nil repeats mean ServiceRepeats. The error is that
// of the ledger.
func ReadListening(ctx context.Context, l ListenLedger, repeats Repeats, now time.Time) (Listening, error) {
	if repeats == nil {
		repeats = ServiceRepeats()
	}
	spans, err := l.Listened(ctx, now.Add(-ListenKept))
	if err != nil {
		return Listening{}, fmt.Errorf("read when webhooks were taken: %w", err)
	}
	lost, err := l.LostTimes(ctx)
	if err != nil {
		return Listening{}, fmt.Errorf("read the lost times: %w", err)
	}
	return NewListening(spans, repeats, now).Without(lost), nil
}

// outage adds the next outage. If it begins while webhooks of the outage before may still be
// repeated, it may miss these too. Both then count as one outage.
func (l *Listening) outage(since, until time.Time) {
	if !l.gap.Since.IsZero() && since.Before(l.due) {
		since = l.gap.Since
	}
	l.gap = Span{since, until}
	l.due = until.Add(l.repeats.after(until.Sub(since)))
}

// Ends returns when the window of a doubt that began at since is over, if webhooks are taken from
// now on. The window counts only time in which webhooks were taken. It does not end before the
// repetitions of an outage have come. It ends at the latest when the window and all repetitions
// together are over, counted from since.
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

// Over returns the spans of time in which a doubt must have begun for its window to be over now.
func (l Listening) Over(window time.Duration) []Span {
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

// firstWebhook is the longest time from a message to the first try of its first webhook, with a
// wide margin. An outage that begins later delays no proof.
const firstWebhook = 10 * time.Minute

// Due returns until when the first webhook about a message that was sent at since may still come;
// zero: it would have come by now.
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
