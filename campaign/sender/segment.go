package sender

import (
	"fmt"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// segment is a leased segment. The planner owns all of it but the atomics.
type segment struct {
	run     *run
	planner signal              // of the connection that holds it
	claimed campaign.Lease      // as claimed; never changed, so the renewer may read it
	lease   campaign.Lease      // with the mark as it is now
	buf     []campaign.Delivery // read ahead: the deliveries from lease.Mark on, in order
	dropped bool                // what was queued has been dropped
	checked time.Time           // when deferred deliveries were last looked for

	until   atomic.Int64 // unix nanoseconds by the local clock: not to be used after
	closes  atomic.Int64 // unix nanoseconds at which its window closes; 0: it has none. Not to be posted from then on
	lost    atomic.Bool  // the lease is gone: nothing more is posted or decided
	pending atomic.Int64 // attempts whose result is not durable yet
	nextDue atomic.Int64 // unix nanoseconds of the earliest known deferred delivery; 0: none known
}

func newSegment(r *run, l campaign.Lease, planner signal) *segment {
	s := &segment{run: r, planner: planner, claimed: l, lease: l}
	s.until.Store(l.Until.UnixNano())
	return s
}

// exhausted reports whether every delivery of the segment has had its first intent.
func (s *segment) exhausted() bool { return s.lease.Mark >= s.lease.Hi }

// mayPost reports whether the lease has margin left at now, and the window is open. The margin
// only limits how often a stalled process makes doubts; correctness rests on the epoch.
func (s *segment) mayPost(now time.Time, margin time.Duration) bool {
	n, closes := now.UnixNano(), s.closes.Load()
	return !s.lost.Load() && n < s.until.Load()-int64(margin) && (closes == 0 || n < closes)
}

// closedUntil is the instant at which the run's window opens for a segment, or zero
// when it is open. It closes one second early, so that what is queued is posted before the
// hour (throttle.md 6.2); what is held up meanwhile must not be posted after it either.
func (s *segment) closedUntil(now time.Time) (time.Time, error) {
	r := s.run
	if r.window == nil {
		return time.Time{}, nil
	}
	loc := time.UTC
	if group := s.lease.Group; group != "" {
		var err error
		if loc, err = time.LoadLocation(group); err != nil {
			return time.Time{}, fmt.Errorf("window group %q: %w", group, err)
		}
	}
	open, changes := r.window.Open(now, loc)
	if !open {
		return changes, nil
	}
	if changes.IsZero() {
		return time.Time{}, nil
	}
	s.closes.Store(changes.UnixNano())
	if soon := now.Add(time.Second); !soon.Before(changes) {
		if open, again := r.window.Open(soon, loc); !open {
			return again, nil
		}
	}
	return time.Time{}, nil
}

// due notes that a delivery waits until at.
func (s *segment) due(at time.Time) {
	n := at.UnixNano()
	for {
		old := s.nextDue.Load()
		if old != 0 && old <= n || s.nextDue.CompareAndSwap(old, n) {
			return
		}
	}
}

// dueBy reports whether a deferred delivery may have come due.
func (s *segment) dueBy(now time.Time) bool {
	n := s.nextDue.Load()
	return n != 0 && n <= now.UnixNano()
}

// recorded notes that a result is durable.
func (s *segment) recorded(r campaign.Result) {
	if r.Kind == campaign.ResultDeferred {
		s.due(r.NotBefore)
	}
	if s.pending.Add(-1) == 0 || r.Kind == campaign.ResultDeferred {
		s.planner.send()
	}
}

// givenUp notes that a result will not be written. Nobody waits for it any more, so the segment can
// be handed back: its next owner finds a delivery without an outcome, and doubts it.
func (s *segment) givenUp() {
	if s.pending.Add(-1) == 0 {
		s.planner.send()
	}
}
