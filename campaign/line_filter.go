package campaign

import (
	"time"

	"campaignd/recipients"
)

// LineFilter selects deliveries of a run. A zero field selects all.
type LineFilter struct {
	Status     Status
	Reason     string
	Code       string // of failed and refused deliveries; NoCode: of those without one
	Connection string
	Key        int64 // recipients.Key of the number
	// A delivery is selected whose latest time (Line.latestAt) is at Since or later, and before
	// Before; zero: at any time.
	Since, Before time.Time
}

// Selects reports whether the filter selects a delivery.
func (f *LineFilter) Selects(l *Line) bool {
	if f.Status != "" && l.Status != f.Status || f.Reason != "" && l.Reason != f.Reason || f.Code != "" && !l.HasCode(f.Code) ||
		f.Connection != "" && l.Connection != f.Connection || f.Key != 0 && recipients.Fold(l.Key) != recipients.Fold(f.Key) {
		return false
	}
	if f.Since.IsZero() && f.Before.IsZero() {
		return true
	}
	at := l.latestAt()
	return !at.IsZero() && !at.Before(f.Since) && (f.Before.IsZero() || at.Before(f.Before))
}

// latestAt is the latest of a delivery's times; zero if it has none.
func (l *Line) latestAt() (at time.Time) {
	for _, t := range []time.Time{l.AcceptedAt, l.SentAt, l.DeliveredAt, l.ReadAt, l.FailedAt, l.DoubtSince} {
		if t.After(at) {
			at = t
		}
	}
	return at
}
