package ledger

import (
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/recipients"
)

// Timed sets the times from which events count that came at now, by the ledger's clock: their own
// times, bounded by now (reception.EventTime). An opt-out whose time is missing or had to be
// bounded counts as newer than every lift that the ledger has, so a wrong clock loses none.
func Timed(e *campaign.Events, found *Attributed, now time.Time) {
	at := func(own time.Time) time.Time {
		at, _ := reception.EventTime(own, now)
		return at
	}
	stop := func(s *campaign.Suppression) {
		own := s.At
		if s.At = at(own); s.At.Equal(own) {
			return
		}
		s.Newest = true
		if s.Proof != (campaign.Proof{}) {
			s.Proof.At = s.At
		}
		if s.Scope == campaign.ScopeUnreachable {
			s.Until = s.At.Add(campaign.UnreachableFor)
		}
	}
	e.Suppressions = slices.Clone(e.Suppressions)
	for i := range e.Suppressions {
		stop(&e.Suppressions[i])
	}
	e.Moved = slices.Clone(e.Moved)
	for i := range e.Moved {
		e.Moved[i].At = at(e.Moved[i].At)
	}
	e.Replies = slices.Clone(e.Replies)
	for i := range e.Replies {
		e.Replies[i].At = at(e.Replies[i].At)
	}
	came := func(received *time.Time) {
		if received.IsZero() {
			*received = now
		}
	}
	for i := range found.Pairs {
		came(&found.Pairs[i].At)
	}
	for i := range found.Keep {
		w := &found.Keep[i]
		if came(&w.ReceivedAt); !w.Resume {
			stop(&w.Suppression)
		}
	}
}

// Later returns the opt-ins that are later than every opt-out of their person in the same batch,
// because Events has no order between its lists. If both have the same time, the opt-out stays. The
// times are those of Timed and Counted.
func Later(optIns, optOuts []campaign.Suppression) []campaign.Suppression {
	if len(optIns) == 0 || len(optOuts) == 0 {
		return optIns
	}
	type person struct {
		key     int64
		company string
	}
	of := func(s campaign.Suppression) person { return person{recipients.Fold(s.Key), s.Company} }
	out := map[person]time.Time{}
	for _, s := range optOuts {
		if s.Scope == campaign.ScopeMarketing && !s.At.Before(out[of(s)]) {
			out[of(s)] = s.At
		}
	}
	return slices.DeleteFunc(slices.Clone(optIns), func(s campaign.Suppression) bool {
		at, both := out[of(s)]
		return both && !s.At.After(at)
	})
}

// clockFor is how long a reading of a database's clock is used. The process's clock may be set
// meanwhile: the time since the reading is measured without it.
const clockFor = 10 * time.Second

// Clock is the clock of a database, which is read from time to time. The zero value was not read.
type Clock struct {
	mu       sync.Mutex
	at, read time.Time
}

// Now returns the time by the clock. exact reads it now.
func (c *Clock) Now(exact bool, read func() (time.Time, error)) (time.Time, error) {
	c.mu.Lock()
	at, since := c.at, time.Since(c.read)
	c.mu.Unlock()
	if !exact && !at.IsZero() && since < clockFor {
		return at.Add(since), nil
	}
	at, err := read()
	if err != nil {
		return at, err
	}
	c.mu.Lock()
	c.at, c.read = at, time.Now()
	c.mu.Unlock()
	return at, nil
}

// Ahead reports whether an event has no time of its own, or one after now: then the exact time
// decides from when it counts.
func Ahead(e *campaign.Events, now time.Time) (ahead bool) {
	see := func(own time.Time) { ahead = ahead || own.IsZero() || own.After(now) }
	for i := range e.Statuses {
		see(e.Statuses[i].At)
	}
	for _, all := range [][]campaign.Suppression{e.Suppressions, e.Lifted} {
		for i := range all {
			see(all[i].At)
		}
	}
	for i := range e.Holds {
		see(e.Holds[i].Since)
	}
	for i := range e.Lifts {
		see(e.Lifts[i].At)
	}
	for i := range e.Moved {
		see(e.Moved[i].At)
	}
	for i := range e.Inbound {
		see(e.Inbound[i].At)
	}
	for i := range e.Wishes {
		see(e.Wishes[i].At)
	}
	return ahead
}
