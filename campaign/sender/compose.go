package sender

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
)

// A read of deliveries covers readFor of the number's sending, and has from leastAhead to readAhead
// rows. A read of 32 rows costs a row about as much as a longer one. A quarter of a segment is a
// short read, and hundreds of slow numbers, each with several runs, keep little in memory.
const (
	readFor    = 2 * time.Second
	leastAhead = 32
	readAhead  = campaign.SegmentSize / 4
)

// rowsAhead is how many deliveries are read at once.
func (p *planner) rowsAhead() int64 {
	return int64(min(max(p.number.pace()*readFor.Seconds(), leastAhead), readAhead))
}

// lookAgain is how often an owned segment is searched for deferred deliveries whose time an earlier
// owner set.
const lookAgain = 15 * time.Second

// compose chooses deliveries for the next intents by the runs' shares. The runs without a
// limit of their own get n together. A run with one gets what its part of the queue can still take
// (queue.capacity; most is how many attempts of one run may be queued). Due retries come before the
// other deliveries of their run (docs/limits.md#sharing-a-number). With an error it returns what it
// had chosen.
func (p *planner) compose(ctx context.Context, now time.Time, n, most int) (drafts []draft, err error) {
	p.turn++
	flows := p.divide(now, p.number.pace())
	p.fair.choose(flows, now, n, most)
	for _, l := range flows {
		take, units, limit := p.units.draw(ctx, l.run, p.fair.askShare(ctx, l, now), now)
		if limit.By != "" {
			p.waits.begin(l.run, limit, now)
		}
		unused := l.n - take
		for _, s := range p.claimer.segments {
			if take <= 0 {
				break
			}
			if s.run != l.run || !p.postable(s, now) {
				continue
			}
			d, err := p.draft(ctx, s, now, take)
			d.charge = units
			took := len(d.rows) + len(d.Retries)
			if err != nil {
				units.putBack(take - took)
				return append(drafts, d), err
			}
			if took == 0 {
				continue
			}
			drafts = append(drafts, d)
			take -= took
		}
		units.putBack(take)
		p.fair.giveBack(l, unused+take)
	}
	return drafts, nil
}

// divide gives each run that wants the number now its rate, and returns those that can be sent
// here, the run whose turn it is first.
func (p *planner) divide(now time.Time, rate float64) []*flow {
	return p.fair.divide(p.runsInTurn(), p.sendable(now), rate)
}

// sendable is how many deliveries of each run could be sent now. Due retries are not counted one by
// one: a segment with some counts for SegmentSize more. The next call changes the answer.
func (p *planner) sendable(now time.Time) map[*run]int {
	count := p.counts
	clear(count)
	for _, s := range p.claimer.segments {
		if !p.postable(s, now) {
			continue
		}
		if !s.exhausted() && s.run.skipping.Load() == nil { // the fresh deliveries of a run whose rest is skipped are not sent
			count[s.run] += int(s.lease.Hi - s.lease.Mark)
		}
		if s.dueBy(now) {
			count[s.run] += campaign.SegmentSize
		}
	}
	maps.DeleteFunc(count, func(r *run, _ int) bool { return p.waits.standsStill(r, now) })
	return count
}

// idles reports whether lanes wait for a limit and no other lane of the number can send.
func (p *planner) idles(now time.Time) bool {
	return len(p.waits.of) > 0 && len(p.sendable(now)) == 0
}

// postable reports whether deliveries of the segment may be posted now.
func (p *planner) postable(s *segment, now time.Time) bool {
	if s.leaving || !s.mayPost(now, p.e.o.Lease/5) {
		return false
	}
	return s.closedUntil(now).IsZero() // else giveBack parks it
}

// canSend reports whether the run has something to post now.
func (p *planner) canSend(r *run, now time.Time) bool {
	return slices.ContainsFunc(p.claimer.segments, func(s *segment) bool {
		fresh := !s.exhausted() && r.skipping.Load() == nil // the fresh deliveries of a run whose rest is skipped are not sent
		return s.run == r && (fresh || s.dueBy(now)) && p.postable(s, now)
	})
}

// working are the runs that have something to post, now or later. The next call changes the answer.
func (p *planner) working() map[*run]bool {
	clear(p.works)
	for _, s := range p.claimer.segments {
		if !s.lost.Load() && (!s.exhausted() || s.nextDue.Load() != 0) {
			p.works[s.run] = true
		}
	}
	return p.works
}

// draft fills an intent of one segment with up to n deliveries.
func (p *planner) draft(ctx context.Context, s *segment, now time.Time, n int) (draft, error) {
	d := draft{seg: s, Intent: campaign.Intent{
		Lease: s.lease, Connection: p.number.connection, Origin: p.e.origin(p.number.connection, s.run),
		From: s.lease.Mark, To: s.lease.Mark, Until: s.ends(),
		Tier: p.e.o.Tier(p.number.connection), Cap: s.run.cap, Pair: p.e.meet.Load().at(p.number.connection),
		LeaveOut: s.run.leaveOut,
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
	if fresh := n - len(d.Retries); fresh > 0 && !s.exhausted() && s.run.skipping.Load() == nil {
		if len(s.buf) == 0 {
			rows, err := p.e.ledger.Deliveries(ctx, s.lease.Run, s.lease.Mark, min(s.lease.Hi, s.lease.Mark+p.rowsAhead()))
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
