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

// wait notes, also for `why`, that a limit keeps the run's lane from its next intent.
func (p *planner) wait(r *run, l campaign.Limit, now time.Time) {
	again := now.Add(waitAgain)
	if !l.Until.IsZero() && l.Until.Before(again) {
		again = l.Until
	}
	p.waits[r] = waiting{l, again}
	p.limitBy(r, l)
}

// waitsFor returns what the run's lane waits for; its By is "" while the lane waits for nothing.
func (p *planner) waitsFor(r *run, now time.Time) campaign.Limit {
	if w, ok := p.waits[r]; ok && now.Before(w.again) {
		return w.Limit
	}
	return campaign.Limit{}
}

// waitsLong reports whether the lane waits for longer than a segment without a connection should
// wait with it.
func (p *planner) waitsLong(r *run, now time.Time) bool {
	l := p.waitsFor(r, now)
	return l.By != "" && (l.Until.IsZero() || l.Until.Sub(now) > waitAgain)
}

// forgetWaits ends the waits of runs that are over, and tells `why` of the others.
func (p *planner) forgetWaits(now time.Time) {
	if len(p.waits) == 0 {
		return
	}
	runs := p.activeRuns()
	maps.DeleteFunc(p.waits, func(r *run, _ waiting) bool { return !slices.Contains(runs, r) })
	for r := range p.waits {
		if l := p.waitsFor(r, now); l.By != "" {
			p.limitBy(r, l)
		}
	}
}
