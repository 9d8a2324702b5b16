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

// waits are the lanes that a limit keeps from their next intent.
type waits struct {
	lanes *lanes // are told of each, for `why`
	of    map[*run]waiting
}

func newWaits(l *lanes) waits { return waits{l, map[*run]waiting{}} }

// begin notes that a limit keeps the run's lane from its next intent.
func (w *waits) begin(r *run, l campaign.Limit, now time.Time) {
	again := now.Add(waitAgain)
	if !l.Until.IsZero() && l.Until.Before(again) {
		again = l.Until
	}
	w.of[r] = waiting{l, again}
	w.lanes.limitBy(r, l)
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
			w.lanes.limitBy(r, l)
		}
	}
}
