package sender

import (
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
)

// A lane whose next intent is not granted because of a limit (campaign.Limit) waits: it asks again
// when the limit frees, and every waitAgain before that, because a limit may be raised and a
// refusal gives back what it took. Its segments stay where they are, except that those without a
// connection are left to the run's other connections.

// waitAgain is the longest time between two questions of a lane that a limit keeps waiting: 5 s is
// 0.006 % of the 24 hours of a tier.
const waitAgain = 5 * time.Second

// waiting is what keeps a lane from its next intent, and when it asks again.
type waiting struct {
	campaign.Limit
	again time.Time
}

// waits tells what keeps the lanes of a number from their next intent: limits, and holds.
type waits struct {
	e      *Engine
	number *number
	lanes  *lanes // are told of each limit, for `why`
	of     map[*run]waiting
}

// begin notes that a limit keeps the run's lane from its next intent.
func (w *waits) begin(r *run, l campaign.Limit, now time.Time) {
	again := now.Add(waitAgain)
	if !l.Until.IsZero() && l.Until.Before(again) {
		again = l.Until
	}
	w.of[r] = waiting{l, again}
	w.lanes.limit(r, l)
}

// limit returns what the run's lane waits for; its By is "" while the lane waits for nothing.
func (w *waits) limit(r *run, now time.Time) campaign.Limit {
	if one, ok := w.of[r]; ok && now.Before(one.again) {
		return one.Limit
	}
	return campaign.Limit{}
}

// long reports whether the lane waits for longer than a segment without a connection should wait
// with it.
func (w *waits) long(r *run, now time.Time) bool {
	l := w.limit(r, now)
	return l.By != "" && (l.Until.IsZero() || l.Until.Sub(now) > waitAgain)
}

// tell forgets the waits of runs that are over, and tells of the others again.
func (w *waits) tell(active []*run, now time.Time) {
	maps.DeleteFunc(w.of, func(r *run, _ waiting) bool { return !slices.Contains(active, r) })
	for r := range w.of {
		if l := w.limit(r, now); l.By != "" {
			w.lanes.limit(r, l)
		}
	}
}

// standsStill reports whether no intent of the run is to be asked for now: it is paused, ends,
// waits for a limit, or is held.
func (w *waits) standsStill(r *run, now time.Time) bool {
	if r.paused.Load() || r.over() || w.limit(r, now).By != "" {
		return true
	}
	_, held := w.heldBy(r, now)
	return held
}

// heldBy returns the hold that stops the run's messages over this connection; false: none does.
func (w *waits) heldBy(r *run, now time.Time) (campaign.Hold, bool) {
	return w.e.heldBy(w.number.connection, r, now)
}

// heldLong reports whether a hold stops the run's messages for longer than a second: what was
// granted goes back, and is checked again by its next intent.
func (w *waits) heldLong(r *run, now time.Time) bool {
	h, held := w.heldBy(r, now)
	return held && (h.Until.IsZero() || h.Until.Sub(now) > shortHold)
}
