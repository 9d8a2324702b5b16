package campaign

import "time"

// maxAhead is how far the own time of an event may lie after its receipt.
const maxAhead = 5 * time.Minute

// EventTime returns the time to store for an event, in UTC: its own time, or the time of its
// receipt if it has none or if its own time lies more than 5 minutes after the receipt. The
// sender's clock is wrong in the second case, and clamped is true
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
