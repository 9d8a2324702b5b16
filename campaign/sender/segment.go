package sender

import (
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// segment is a leased segment. The planner owns all of it but the atomics.
type segment struct {
	run     *run
	planner signal              // of the connection that holds it
	zones   []*time.Location    // of its recipients
	claimed campaign.Lease      // as claimed; never changed, so the renewer may read it
	taken   time.Time           // when that was
	lease   campaign.Lease      // with the mark as it is now
	buf     []campaign.Delivery // read ahead: the deliveries from lease.Mark on, in order
	skipped bool                // what was queued has been skipped
	leaving bool                // it goes to another connection when nothing of it is in flight
	checked time.Time           // when deferred deliveries were last looked for

	until   atomic.Int64 // unix nanoseconds by the local clock: not to be used after
	closes  atomic.Int64 // unix nanoseconds: nothing is posted from then on, the window closes or the run expires; 0: neither
	lost    atomic.Bool  // the lease is gone: nothing more is posted or decided
	pending atomic.Int64 // attempts whose result is not durable yet
	awaited atomic.Bool  // the planner waits until none is pending, to give the segment back
	nextDue atomic.Int64 // unix nanoseconds of the earliest known deferred delivery; 0: none known
}

func newSegment(r *run, l campaign.Lease, planner signal) *segment {
	s := &segment{run: r, planner: planner, zones: []*time.Location{time.UTC}, claimed: l, taken: time.Now(), lease: l}
	s.until.Store(l.Until.UnixNano())
	s.close(time.Time{})
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

// close notes when the window closes; zero: it does not. The run's not_after may come before that.
func (s *segment) close(at time.Time) {
	if r := s.run; r.notAfter > 0 {
		if expires := r.started.Add(r.notAfter); at.IsZero() || expires.Before(at) {
			at = expires
		}
	}
	if !at.IsZero() {
		s.closes.Store(at.UnixNano())
	}
}

// ends is the instant from which on nothing of the segment may be posted; zero: there is none.
func (s *segment) ends() time.Time {
	if n := s.closes.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// closedUntil is the instant at which the run's window opens for the segment, or zero while it is
// open. The window closes one second early, so that what is queued is posted before the hour
// (docs/limits.md#clocks); what is held up meanwhile must not be posted after it either.
func (s *segment) closedUntil(now time.Time) time.Time {
	window := s.run.window
	if window == nil {
		return time.Time{}
	}
	open, changes := window.Open(now, s.zones...)
	if !open {
		return changes
	}
	if changes.IsZero() {
		return time.Time{}
	}
	s.close(changes)
	if soon := now.Add(time.Second); !soon.Before(changes) {
		if open, again := window.Open(soon, s.zones...); !open {
			return again
		}
	}
	return time.Time{}
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
	if s.pending.Add(-1) == 0 && s.awaited.Load() || r.Kind == campaign.ResultDeferred {
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
