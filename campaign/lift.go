package campaign

import (
	"time"

	"campaignd/campaign/reception"
)

// Lift ends holds of one scope and id.
type Lift struct {
	Scope  HoldScope
	ID     string
	Reason string // "": of any reason
	// At is the time of the lifting event itself. A lift without a time does nothing.
	At time.Time
	// ReceivedAt is when the event came; zero: now. The ledger counts an event from LiftTime.
	ReceivedAt time.Time
	By         HoldSource
	Who        string // the operator, as Hold.Who
}

// holdSkew is how far the clocks of this machine and of the service may differ. This machine's
// clock tells when a request was refused or accepted, the service's clock when an event happened.
const holdSkew = 5 * time.Second

// Ends reports whether the lift ends the hold. An operator's lift ends every hold. A breaker's lift
// ends holds of breakers, and by its reason a hold that is tried. An event ends no hold that an
// operator or a breaker began, or that only an operator may end. A breaker and an event end no hold
// that began after them.
func (l Lift) Ends(h Hold) bool {
	if l.Scope != h.Scope || l.ID != h.ID || l.Reason != "" && l.Reason != h.Reason || l.At.IsZero() || !h.Lifted.IsZero() {
		return false
	}
	began := reception.Later(h.Since, h.Latest)
	switch l.By {
	case HoldByOperator:
		return true
	case HoldByBreaker: // the breakers of several processes, and the service, have clocks of their own
		return h.Source == HoldByBreaker && !began.After(l.At.Add(holdSkew)) || l.Reason != "" && h.Tried() && !began.After(l.At)
	}
	return !h.Manual && h.Source != HoldByOperator && h.Source != HoldByBreaker && !began.After(l.At.Add(h.Source.skew()))
}

// skew is the tolerance in a comparison of a hold of this source with the time of an event.
func (s HoldSource) skew() time.Duration {
	if s == HoldByRefusal || s == HoldByStatus {
		return holdSkew
	}
	return 0
}

// LastLifts are when the holds of a scope and id were last lifted. A zero time means never.
type LastLifts struct {
	Event    time.Time // by an event, by the clock of the service
	Operator time.Time
}

// With returns the later times of w and of a lift.
func (w LastLifts) With(by HoldSource, at time.Time) LastLifts {
	switch by {
	case HoldByEvent:
		w.Event = reception.Later(w.Event, at)
	case HoldByOperator:
		w.Operator = reception.Later(w.Operator, at)
	}
	return w
}

// covers reports whether the report h is older than the last lift of its scope and id. The holds of
// operators and breakers are no reports. An event lifts no hold that only an operator may end.
func (w LastLifts) covers(h Hold) bool {
	if h.Source == HoldByOperator || h.Source == HoldByBreaker {
		return false
	}
	return !w.Operator.IsZero() && !h.Since.After(w.Operator) ||
		!w.Event.IsZero() && !h.Manual && !h.Since.After(w.Event.Add(h.Source.skew()))
}
