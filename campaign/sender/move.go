package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
)

// A run with limits.move lets its other connections send what one of them cannot send now
// (docs/protocol.md#moves). Segments that a connection has not begun are left to the others anyway.

// moveIdle is how long a connection must have had nothing of a run to send before a slower one
// gives it a segment: by then it has looked for free segments itself.
const moveIdle = 2 * time.Second

// moveGain is by how much a move must bring the end of a segment forward, beyond halving its time.
const moveGain = 5 * time.Second

// leaves says why another connection of its run shall send what is left of a segment, and which
// one; "": any. It reports false while the segment stays.
func (p *planner) leaves(s *segment, now time.Time) (to, why string, leaves bool) {
	r := s.run
	if !r.move || len(r.connections) < 2 || s.dropped || s.lease.Connection == "" || s.lease.Bound != "" ||
		now.Sub(s.taken) < moveIdle { // it does not go to and fro
		return "", "", false
	}
	switch wait := p.waits.limit(r, now); {
	case p.heldLong(r, now):
		return "", "held", p.e.anyAble(p, r, now)
	case p.waits.long(r, now):
		return "", wait.By, p.e.anyAble(p, r, now)
	}
	to = p.e.faster(p, s, now)
	return to, "slower", to != ""
}

// move gives a segment that leaves, and of which nothing is in flight, to another connection. It
// reports true when the planner no longer owns the segment.
func (p *planner) move(ctx context.Context, s *segment, now time.Time) (bool, error) {
	to, why, leaves := p.leaves(s, now)
	if !leaves {
		return false, nil
	}
	moved, err := p.e.ledger.Move(ctx, s.lease, to)
	if err != nil {
		return false, fmt.Errorf("move segment: %w", err)
	}
	if !moved {
		return false, nil
	}
	p.claimedAt = time.Time{}
	p.e.o.Log.Info("what is queued moves to another connection", "run", s.run.id, "connection", p.number.connection,
		"deliveries", s.lease.Hi-s.lease.Mark, "because", why)
	return true, nil
}

// workersOf returns the workers of a run's connections.
func (e *Engine) workersOf(r *run) (all []*worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range r.connections {
		if w := e.workers[c]; w != nil {
			all = append(all, w)
		}
	}
	return all
}

// anyAble reports whether another connection of the run can send what the planner's cannot.
func (e *Engine) anyAble(p *planner, r *run, now time.Time) bool {
	for _, w := range e.workersOf(r) {
		if w.planner != p && e.able(w, p, r, now) {
			return true
		}
	}
	return false
}

// able reports whether nothing is known that keeps a connection from sending what another cannot.
func (e *Engine) able(w *worker, from *planner, r *run, now time.Time) bool {
	c := w.number.connection
	if _, held := e.heldBy(c, r, now); held {
		return false
	}
	if rest, _ := w.number.rests(now); rest > 0 || w.number.pace() <= 0 {
		return false
	}
	switch w.planner.lanes.of(r).limited.limit {
	case "hold", "unreachable", campaign.LimitTier, campaign.LimitAllowance, campaign.LimitRamp, campaign.LimitLimiter:
		return false
	}
	mine := from.number.connection
	switch from.waits.limit(r, now).By { // what both share
	case campaign.LimitTier:
		tier := e.o.Tier(mine)
		return tier.Portfolio == "" || tier.Portfolio != e.o.Tier(c).Portfolio
	case campaign.LimitAllowance:
		return e.o.Origin(mine).Company != e.o.Origin(c).Company
	}
	return true
}

// faster is the connection that would send the rest of a segment soonest, if it has nothing of the
// run to send and the planner's number needs far longer; "": there is none.
func (e *Engine) faster(p *planner, s *segment, now time.Time) (to string) {
	if s.exhausted() || p.standsStill(s.run, now) {
		return ""
	}
	pace := s.run.paced(p.number.pace())
	if pace <= 0 {
		return ""
	}
	left := float64(s.lease.Hi - s.lease.Mark)
	if left/pace <= moveGain.Seconds() {
		return ""
	}
	before := 0.0 // deliveries of the run that the number sends first
	for _, o := range p.segments {
		if o == s {
			break
		}
		if o.run == s.run && !o.lost.Load() {
			before += float64(o.lease.Hi - o.lease.Mark)
		}
	}
	best := ((before+left)/pace - moveGain.Seconds()) / 2
	for _, w := range e.workersOf(s.run) {
		if w.planner == p || !w.planner.lanes.of(s.run).idleFor(moveIdle, now) || !e.able(w, p, s.run, now) {
			continue
		}
		if needs := left / s.run.paced(w.number.pace()); needs < best {
			best, to = needs, w.number.connection
		}
	}
	return to
}
