package reception

import (
	"fmt"
	"time"
)

// LostTime is a time of which the ledger lacks what was written, because it went back in time and
// was quarantined (docs/protocol.md#when-the-ledger-goes-back-in-time). Events that were answered
// 2xx in that time are not in the ledger until the service has posted them again.
type LostTime struct {
	At    time.Time // of the quarantine
	Since time.Time // nothing older was lost
	// Asked is when the service was asked last to post all events of the lost time again. Zero: it was
	// not.
	Asked time.Time
	// Deliveries is how many deliveries the service said it posts again, and Came how many deliveries
	// with events of the lost time have been taken since the quarantine.
	Deliveries, Came int64
}

// Replaying reports whether deliveries of the replay are still to come.
func (t LostTime) Replaying() bool { return !t.Asked.IsZero() && t.Came < t.Deliveries }

// Of reports whether a delivery may be one of the replay: its event is of the lost time, or of the
// time from then until the replay was asked for, and it was received after the quarantine.
func (t LostTime) Of(event, received time.Time) bool {
	return !event.Before(t.Since) && !received.Before(t.At) && (t.Asked.IsZero() || !event.After(t.Asked))
}

// NotAsked returns since when events are missing that nobody has asked for, and that the service
// may still have a week after the quarantine; zero: none are. Opt-outs may be among them.
func NotAsked(lost []LostTime, now time.Time) (since time.Time) {
	for _, t := range lost {
		if t.Asked.IsZero() && now.Sub(t.At) <= ListenKept && (since.IsZero() || t.Since.Before(since)) {
			since = t.Since
		}
	}
	return since
}

// Without returns l with the lost times of the ledger.
func (l Listening) Without(lost []LostTime) Listening {
	l.lost = lost
	return l
}

// Unreplayed returns the newest lost time whose events may still be missing, which could prove a
// doubt that began at since. window is the doubt window of its run.
func (l Listening) Unreplayed(since time.Time, window time.Duration) (lost LostTime, found bool) {
	for _, lost := range l.lost {
		if !since.After(lost.At) && !l.arrived(lost.Asked, window) {
			return lost, true
		}
	}
	return LostTime{}, false
}

// arrived reports whether the events that the service was asked for have come: webhooks were taken
// for a doubt window since then, and none may be repeated any more. Spans are kept for ListenKept.
func (l Listening) arrived(asked time.Time, window time.Duration) bool {
	if asked.IsZero() || asked.Before(l.gap.Until) && l.now.Before(l.due) {
		return false
	}
	last, taken := asked, time.Duration(0)
	for _, s := range l.spans {
		if !s.Until.After(asked) {
			continue
		}
		since := s.Since
		if since.Before(asked) {
			since = asked
		}
		if since.Sub(last) >= l.repeats.all() {
			return false // the service gave up
		}
		last, taken = s.Until, taken+s.Until.Sub(since)
	}
	return taken >= window
}

// Replaying returns the newest lost time that a run of then has to wait for: deliveries of its
// replay are to come, and the doubt window is not over since it was asked for. The count may be
// wrong: the service may post to other endpoints too, or repeat a delivery.
func (l Listening) Replaying(created time.Time, window time.Duration) (lost LostTime, found bool) {
	for _, lost := range l.lost {
		if !created.After(lost.At) && lost.Replaying() && !l.arrived(lost.Asked, window) {
			return lost, true
		}
	}
	return LostTime{}, false
}

// Split divides the doubts that began in s. Events that were lost may prove the doubts of held, so
// no policy sends them again; rest has the others.
func (l Listening) Split(s Span, window time.Duration) (held, rest Span) {
	lost, found := l.Unreplayed(s.Since, window)
	if !found {
		return Span{}, s
	}
	cut := lost.At.Add(time.Millisecond) // the ledger's times are in milliseconds
	if s.Until.Before(cut) {
		cut = s.Until
	}
	return Span{s.Since, cut}, Span{cut, s.Until}
}

// Sentence says why rows that were in doubt at the quarantine are not sent again, and what to do.
func (t LostTime) Sentence(window fmt.Stringer) string {
	since := t.Since.UTC().Format(time.RFC3339)
	if t.Asked.IsZero() {
		return fmt.Sprintf("events since %s were lost and not replayed: `campaignd webhooks replay --since %[1]s`, or --not-replayed", since)
	}
	return fmt.Sprintf("lost events since %s, asked for at %s, may still come: take webhooks for %s after that, replay again, "+
		"or pass --not-replayed", since, t.Asked.UTC().Format(time.RFC3339), window)
}

// Missed returns since when events that come now may have been tried: the beginning of an outage
// whose webhooks may still be repeated, otherwise now.
func (l Listening) Missed() time.Time {
	if l.now.Before(l.due) {
		return l.gap.Since
	}
	return l.now
}
