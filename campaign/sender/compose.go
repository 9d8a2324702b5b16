package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// readAhead is how many deliveries a segment reads at once: a quarter of it, so
// that memory stays small and a read is short.
const readAhead = campaign.SegmentSize / 4

// lookAgain is how often an owned segment is searched for deferred deliveries
// whose time was set by an earlier owner.
const lookAgain = 15 * time.Second

// compose chooses up to group deliveries: runs take turns, due retries go to the
// head of their own run (throttle.md 6.2). With an error it returns what it had chosen.
func (p *planner) compose(ctx context.Context, now time.Time, group int) ([]draft, map[*run][]time.Time, error) {
	slots := map[*run][]time.Time{}
	var drafts []draft
	runs := p.activeRuns()
	if len(runs) == 0 {
		return nil, nil, nil
	}
	p.turn++
	left := group
	for i := 0; i < len(runs) && left > 0; i++ {
		r := runs[(i+p.turn)%len(runs)]
		if r.held.Load() || r.dropping.Load() != nil {
			continue
		}
		share := max(left/(len(runs)-i), 1)
		take, err := p.capped(ctx, r, now, share, slots)
		if err != nil {
			return drafts, nil, err
		}
		for _, s := range p.segments {
			if take <= 0 {
				break
			}
			if s.run != r || !p.open(s, now) {
				continue
			}
			d, err := p.draft(ctx, s, now, take)
			if err != nil {
				return append(drafts, d), nil, err
			}
			if n := len(d.rows) + len(d.Retries); n > 0 {
				drafts = append(drafts, d)
				take -= n
				left -= n
			}
		}
	}
	return drafts, slots, nil
}

// open reports whether deliveries of the segment may be posted now.
func (p *planner) open(s *segment, now time.Time) bool {
	if !s.mayPost(now, p.e.o.Lease/5) {
		return false
	}
	opens, err := s.closedUntil(now)
	return err == nil && opens.IsZero() // else tend parks it
}

// capped asks the run's own limit (limits.rate) for up to n instants.
func (p *planner) capped(ctx context.Context, r *run, now time.Time, n int, slots map[*run][]time.Time) (int, error) {
	if r.rate <= 0 {
		return n, nil
	}
	if !p.canUse(r, now) {
		return 0, nil
	}
	if now.Before(p.capUntil[r]) {
		p.limit(r, "cap", ownLimit(r.rate))
		return 0, nil
	}
	leased, err := p.e.limiter.Lease(ctx, "run:"+r.id, r.rate, n)
	if errors.Is(err, throttle.ErrUnavailable) {
		if ctx.Err() == nil {
			p.number.unasked(now, err)
		}
		return 0, nil // asked again at the next tick
	}
	if err != nil {
		return 0, fmt.Errorf("lease the campaign's own slots: %w", err)
	}
	p.number.answered()
	if leased.N == 0 {
		p.capUntil[r] = now.Add(leased.Wait)
		p.limit(r, "cap", ownLimit(r.rate))
		time.AfterFunc(leased.Wait, p.poke.send)
		return 0, nil
	}
	for i := range leased.N {
		slots[r] = append(slots[r], leased.At(i))
	}
	if leased.N < n { // the horizon is full: asked again when half of it is used, not at each slot
		p.capUntil[r] = leased.At(leased.N - 1).Add(-throttle.Horizon / 2)
		time.AfterFunc(time.Until(p.capUntil[r]), p.poke.send)
		p.limit(r, "cap", ownLimit(r.rate))
	}
	return leased.N, nil
}

// canUse reports whether the run has something to post now. A slot that is asked for without is lost to the other numbers
// of the run.
func (p *planner) canUse(r *run, now time.Time) bool {
	return slices.ContainsFunc(p.segments, func(s *segment) bool {
		return s.run == r && (!s.exhausted() || s.dueBy(now)) && p.open(s, now)
	})
}

// hasWork reports whether the run has something to post, now or later.
func (p *planner) hasWork(r *run) bool {
	return slices.ContainsFunc(p.segments, func(s *segment) bool {
		return s.run == r && !s.lost.Load() && (!s.exhausted() || s.nextDue.Load() != 0)
	})
}

// draft fills an intent of one segment with up to n deliveries.
func (p *planner) draft(ctx context.Context, s *segment, now time.Time, n int) (draft, error) {
	d := draft{seg: s, Intent: campaign.Intent{
		Lease: s.lease, Owner: p.e.o.Owner, Connection: p.number.connection, From: s.lease.Mark, To: s.lease.Mark,
	}}
	if s.dueBy(now) || now.Sub(s.checked) >= lookAgain {
		s.checked = now
		s.nextDue.Store(0)
		due, err := p.e.ledger.Due(ctx, s.lease, now, n)
		if err != nil {
			s.due(now) // looked for again at the next step
			return d, fmt.Errorf("read deferred deliveries: %w", err)
		}
		if len(due) == n {
			s.due(now) // there may be more
		}
		d.Retries = due
	}
	if fresh := n - len(d.Retries); fresh > 0 && !s.exhausted() {
		if len(s.buf) == 0 {
			rows, err := p.e.ledger.Deliveries(ctx, s.lease.Run, s.lease.Mark, min(s.lease.Hi, s.lease.Mark+readAhead))
			if err != nil {
				return d, fmt.Errorf("read ahead: %w", err)
			}
			s.buf = rows
		}
		d.rows = s.buf[:min(fresh, len(s.buf))]
		if len(d.rows) > 0 {
			d.To = d.rows[len(d.rows)-1].Seq + 1
		}
	}
	for i := range d.rows {
		d.Keys = append(d.Keys, d.rows[i].Key)
	}
	for i := range d.Retries {
		d.Keys = append(d.Keys, d.Retries[i].Key)
	}
	return d, nil
}
