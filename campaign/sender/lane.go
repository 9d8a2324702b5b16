package sender

import (
	"maps"
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
)

// lanes are what the planner's last step found about each lane of its number. The limits of a step
// are collected during it. Other goroutines read only what the end of a step has published.
type lanes struct {
	limits map[campaign.RunNo]campaign.Limit // of the step under way; the planner's goroutine alone uses it

	mu   sync.Mutex
	last map[campaign.RunNo]lane // of the active runs, when the last step ended
}

// lane is what a step found out about one lane.
type lane struct {
	limited campaign.Limit
	works   bool      // there is something to send, now or later
	idle    time.Time // since when there has been nothing to send; zero: there is something
	share   share     // of the number; zero for a run that does not want it here
}

// idleFor reports whether there has been nothing to send in the lane for d.
func (l lane) idleFor(d time.Duration, now time.Time) bool {
	return !l.idle.IsZero() && now.Sub(l.idle) >= d
}

// share is the part of the number that a run gets.
type share struct {
	rate float64 // messages per second
	runs int     // among how many runs the number is divided
}

func newLanes() lanes {
	return lanes{limits: map[campaign.RunNo]campaign.Limit{}, last: map[campaign.RunNo]lane{}}
}

// begin starts a step.
func (l *lanes) begin() { clear(l.limits) }

// limit notes what limits a run's lane at this step.
func (l *lanes) limit(r *run, by campaign.Limit) { l.limits[r.no] = by }

// publish stores what the step found about each active run, with the limits that it noted, and
// forgets the other runs.
func (l *lanes) publish(active []*run, found func(*run) lane, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range active {
		one := found(r)
		one.limited = l.limits[r.no]
		if !one.works {
			if one.idle = l.last[r.no].idle; one.idle.IsZero() {
				one.idle = now
			}
		}
		l.last[r.no] = one
	}
	if len(l.last) > len(active) {
		maps.DeleteFunc(l.last, func(no campaign.RunNo, _ lane) bool {
			return !slices.ContainsFunc(active, func(r *run) bool { return r.no == no })
		})
	}
}

// of is what the last step found out about the run's lane.
func (l *lanes) of(r *run) lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[r.no]
}

// work reports whether the last step found something to send in a lane, now or later.
func (l *lanes) work() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.last {
		if one.works {
			return true
		}
	}
	return false
}
