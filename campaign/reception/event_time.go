package reception

import "time"

// maxAhead is how far the own time of an event may lie after its receipt.
const maxAhead = 5 * time.Minute

// LiftTime returns the instant, in UTC, from which an event counts that lifts, permits or heals
// something: its own time, or its first receipt by the ledger's clock if that is earlier, in whole
// seconds as events have them. So a repetition counts as the event did at first. ok is false if it
// ends nothing: it has no time of its own, or its own time lies more than 5 minutes after its first
// receipt (docs/protocol.md#lifts).
func LiftTime(own, first time.Time) (at time.Time, ok bool) {
	switch {
	case own.IsZero() || own.After(first.Add(maxAhead)):
		return time.Time{}, false
	case own.After(first):
		return first.UTC().Truncate(time.Second), true
	}
	return own.UTC(), true
}

// EventTime returns the time to store for an event, in UTC: its own time, or the time of its
// receipt by the ledger's clock if it has none or if its own time lies more than 5 minutes after
// the receipt. The sender's clock is wrong in the second case, and clamped is true
// (docs/protocol.md#webhook-intake).
func EventTime(own, received time.Time) (at time.Time, clamped bool) {
	if own.IsZero() {
		return received.UTC(), false
	}
	if own.After(received.Add(maxAhead)) {
		return received.UTC(), true
	}
	return own.UTC(), false
}
