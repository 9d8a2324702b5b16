package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
)

// tend gives back segments that are lost, held, closed, dropped or finished.
func (p *planner) tend(ctx context.Context, now time.Time) error {
	runs := p.activeRuns()
	changed := false
	for i := 0; i < len(p.segments); i++ {
		s := p.segments[i]
		gone, err := p.tendOne(ctx, s, slices.Contains(runs, s.run), now)
		if errors.Is(err, campaign.ErrFenced) {
			s.lost.Store(true)
			gone, err = false, nil
		}
		if err != nil {
			return err
		}
		if gone {
			p.segments = slices.Delete(p.segments, i, i+1)
			i--
			changed = true
		}
	}
	if changed {
		p.renewer.keep(p.segments)
	}
	return nil
}

// tendOne reports true when the planner no longer owns the segment.
func (p *planner) tendOne(ctx context.Context, s *segment, active bool, now time.Time) (bool, error) {
	_, _, s.leaving = p.leaves(s, now)
	if s.leaving || s.lost.Load() || s.run.paused.Load() || s.run.over() || !active || p.heldLong(s.run, now) {
		p.unpost(s)
	}
	if s.lost.Load() {
		return s.pending.Load() == 0, nil
	}
	// Again when a result came in that may be retried: it was in flight while the rest was dropped.
	if reason := s.run.dropping.Load(); reason != nil && (!s.dropped || s.run.over() && s.nextDue.Load() != 0) {
		if s.run.over() { // else retries of what the budget has counted are left
			s.nextDue.Store(0)
		}
		n, err := p.e.ledger.Drop(ctx, s.lease, *reason)
		if err != nil {
			return false, fmt.Errorf("drop what is queued: %w", err)
		}
		s.dropped, s.buf = true, nil
		s.lease.Mark = s.lease.Hi
		p.number.counts.skipped.Add(int64(n))
	}
	if s.pending.Load() > 0 {
		return false, nil
	}
	opens := s.closedUntil(now)
	var wake time.Time
	switch {
	case s.run.paused.Load() || !active:
		wake = now
	case !opens.IsZero() && (!s.dropped || !s.run.over()):
		wake = opens
		p.lanes.limitBy(s.run, campaign.Limit{By: campaign.LimitWindow, Until: opens,
			Detail: "outside the sending window until " + opens.UTC().Format(time.RFC3339)})
	case s.exhausted() && !s.dueSoon(now):
	case s.lease.Connection == "" && len(s.run.connections) > 1 && !s.dropped && (p.heldLong(s.run, now) || p.waits.long(s.run, now)):
		wake = now.Add(campaign.HeldPark) // another connection of the run can send it
	default:
		return p.move(ctx, s, now)
	}
	listening, err := p.e.listening.read(ctx, now)
	if err != nil {
		return false, err
	}
	parked, err := p.e.ledger.Park(ctx, s.lease, wake, func(since time.Time) time.Time {
		return listening.Ends(since, s.run.doubtWindow)
	})
	if err != nil {
		return false, fmt.Errorf("park segment: %w", err)
	}
	p.claimedAt = time.Time{}
	if parked.Done {
		p.e.Poke()
	}
	return true, nil
}

// dueSoon reports whether a deferred delivery comes due within a second, so that parking is not
// worth it.
func (s *segment) dueSoon(now time.Time) bool { return s.dueBy(now.Add(time.Second)) }

// unpost takes the segment's attempts out of the queue and records that they were never posted.
func (p *planner) unpost(s *segment) {
	for _, a := range p.queue.remove(func(a *attempt) bool { return a.segment == s }) {
		p.e.rec.settle(p.number, a, notPosted(time.Now()))
	}
}
