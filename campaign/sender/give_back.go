package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
)

// giveBack gives back segments that are lost, held, closed, skipped or finished.
func (c *claimer) giveBack(ctx context.Context, runs []*run, now time.Time) error {
	changed := false
	for i := 0; i < len(c.segments); i++ {
		s := c.segments[i]
		gone, err := c.giveBackOne(ctx, s, slices.Contains(runs, s.run), now)
		if errors.Is(err, campaign.ErrFenced) {
			s.lost.Store(true)
			gone, err = false, nil
		}
		if err != nil {
			return err
		}
		if gone {
			c.segments = slices.Delete(c.segments, i, i+1)
			i--
			changed = true
		}
	}
	if changed {
		c.renewer.keep(c.segments)
	}
	return nil
}

// giveBackOne reports true when the number no longer owns the segment.
func (c *claimer) giveBackOne(ctx context.Context, s *segment, active bool, now time.Time) (bool, error) {
	_, _, s.leaving = c.leaves(s, now)
	opens, held := s.closedUntil(now), c.waits.heldLong(s.run, now)
	ends := s.leaving || s.lost.Load() || s.run.paused.Load() || s.run.over() || !active || held
	s.awaited.Store(ends || s.exhausted() || s.run.skipping.Load() != nil || !opens.IsZero() || c.waits.long(s.run, now))
	if ends {
		c.unpost(s)
	}
	if s.lost.Load() {
		return s.pending.Load() == 0, nil
	}
	// Once more if a result that may be retried came in: its post was in flight during the first
	// SkipQueued.
	if reason := s.run.skipping.Load(); reason != nil && (!s.skipped || s.run.over() && s.nextDue.Load() != 0) {
		if s.run.over() { // else retries of what the budget has counted are left
			s.nextDue.Store(0)
		}
		n, err := c.e.ledger.SkipQueued(ctx, s.lease, *reason)
		if err != nil {
			return false, fmt.Errorf("skip what is queued: %w", err)
		}
		s.skipped, s.buf = true, nil
		s.lease.Mark = s.lease.Hi
		c.number.counts.skipped.Add(int64(n))
	}
	if s.pending.Load() > 0 {
		return false, nil
	}
	var wake time.Time
	switch {
	case s.run.paused.Load() || !active:
		wake = now
	case !opens.IsZero() && (!s.skipped || !s.run.over()):
		wake = opens
		c.lanes.limit(s.run, campaign.Limit{By: campaign.ByWindow, Until: opens,
			Detail: "outside the sending window until " + opens.UTC().Format(time.RFC3339)})
	case s.exhausted() && !s.dueSoon(now):
	case s.lease.Connection == "" && len(s.run.connections) > 1 && !s.skipped && (held || c.waits.long(s.run, now)):
		wake = now.Add(campaign.BriefPark) // another connection of the run can send it
	default:
		return c.move(ctx, s, now)
	}
	listening, err := c.e.listening.read(ctx, now)
	if err != nil {
		return false, err
	}
	parked, err := c.e.ledger.Park(ctx, s.lease, wake, func(since time.Time) time.Time {
		return listening.Ends(since, s.run.doubtWindow)
	})
	if err != nil {
		return false, fmt.Errorf("park segment: %w", err)
	}
	c.claimedAt = time.Time{}
	switch {
	case parked.Done:
		c.e.Poke()
	case !parked.Wake.After(now):
		c.e.free.changed()
	}
	return true, nil
}

// dueSoon reports whether a deferred delivery comes due within a second, so that parking is not
// worth it.
func (s *segment) dueSoon(now time.Time) bool { return s.dueBy(now.Add(time.Second)) }

// unpost takes the segment's attempts out of the queue and records that they were never posted.
func (c *claimer) unpost(s *segment) {
	for _, a := range c.queue.remove(func(a *attempt) bool { return a.segment == s }) {
		c.e.rec.record(c.number, a, notPosted(time.Now()))
	}
}

// release gives every segment back, with its deliveries that were not posted. Before that it waits
// until the ledger has the results of the segment's posts, or until ctx ends.
func (c *claimer) release(ctx context.Context, unposted map[*segment][]int64) {
	for _, s := range c.segments {
		s.awaited.Store(true)
		for s.pending.Load() > 0 && ctx.Err() == nil {
			select {
			case <-c.planner:
			case <-ctx.Done():
			}
		}
		if !s.lost.Load() {
			c.handBack(ctx, s.lease, unposted[s])
		}
	}
}

// handBack releases a segment, with its deliveries that were not posted. Else no process could
// claim it until its lease has run out.
func (c *claimer) handBack(ctx context.Context, l campaign.Lease, unposted []int64) {
	defer c.e.free.changed()
	if err := c.e.ledger.Release(ctx, l, unposted); err != nil && !errors.Is(err, campaign.ErrFenced) {
		c.e.o.Log.Warn("segment not handed back: its lease must run out", "connection", c.number.connection, "err", err)
	}
}
