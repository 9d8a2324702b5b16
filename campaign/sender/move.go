package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
)

// A run with limits.move lets its other connections send what one of them cannot send now
// (docs/protocol.md#moves). Other connections claim the segments that it has not begun, also
// without a move.

// moveIdle is how long a connection must have had nothing of a run to send before a slower one
// gives it a segment: by then it has looked for free segments itself.
const moveIdle = 2 * time.Second

// moveGain is by how much a move must bring the end of a segment forward, beyond halving its time.
const moveGain = 5 * time.Second

// leaves reports whether another connection of its run shall send the rest of a segment, which one
// ("": any), and why.
func (c *claimer) leaves(s *segment, now time.Time) (to, why string, leaves bool) {
	r := s.run
	if !r.move || len(r.connections) < 2 || s.skipped || s.lease.Connection == "" || s.lease.Bound != "" ||
		now.Sub(s.taken) < moveIdle { // else it could move to and fro
		return "", "", false
	}
	switch wait := c.waits.limit(r, now); {
	case c.waits.heldLong(r, now):
		return "", "held", c.anyAble(r, now)
	case c.waits.long(r, now):
		return "", string(wait.By), c.anyAble(r, now)
	}
	to = c.faster(s, now)
	return to, "slower", to != ""
}

// move gives a segment that leaves, and of which nothing is in flight, to another connection. It
// reports true when the number no longer owns the segment.
func (c *claimer) move(ctx context.Context, s *segment, now time.Time) (bool, error) {
	to, why, leaves := c.leaves(s, now)
	if !leaves {
		return false, nil
	}
	moved, err := c.e.ledger.Move(ctx, s.lease, to)
	if err != nil {
		return false, fmt.Errorf("move segment: %w", err)
	}
	if !moved {
		return false, nil
	}
	c.e.free.changed()
	c.claimedAt = time.Time{}
	c.e.o.Log.Info("what is queued moves to another connection", "run", s.run.id, "connection", c.number.connection,
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

// anyAble reports whether another connection of the run can send what this one cannot.
func (c *claimer) anyAble(r *run, now time.Time) bool {
	for _, w := range c.e.workersOf(r) {
		if w.number != c.number && c.able(w, r, now) {
			return true
		}
	}
	return false
}

// able reports whether another connection may send what this one cannot, as far as is known.
func (c *claimer) able(w *worker, r *run, now time.Time) bool {
	other := w.number.connection
	if _, held := c.e.heldBy(other, r, now); held {
		return false
	}
	if rest, _ := w.number.rests(now); rest > 0 || w.number.pace() <= 0 {
		return false
	}
	switch w.planner.lanes.of(r).limited.By {
	case campaign.ByHold, campaign.ByUnreachable, campaign.ByTier, campaign.ByAllowance, campaign.ByRamp, campaign.ByLimiter:
		return false
	}
	mine := c.number.connection
	switch c.waits.limit(r, now).By { // a limit that both share stops both
	case campaign.ByTier:
		tier := c.e.o.Tier(mine)
		return tier.Portfolio == "" || tier.Portfolio != c.e.o.Tier(other).Portfolio
	case campaign.ByAllowance:
		return c.e.o.Origin(mine).Company != c.e.o.Origin(other).Company
	}
	return true
}

// faster is the connection that would send the rest of a segment soonest, if it has nothing of the
// run to send and this one needs far longer; "": there is none.
func (c *claimer) faster(s *segment, now time.Time) (to string) {
	if s.exhausted() || c.waits.standsStill(s.run, now) {
		return ""
	}
	pace := s.run.paced(c.number.pace())
	if pace <= 0 {
		return ""
	}
	left := float64(s.lease.Hi - s.lease.Mark)
	if left/pace <= moveGain.Seconds() {
		return ""
	}
	before := 0.0 // deliveries of the run that the number sends first
	for _, o := range c.segments {
		if o == s {
			break
		}
		if o.run == s.run && !o.lost.Load() {
			before += float64(o.lease.Hi - o.lease.Mark)
		}
	}
	best := ((before+left)/pace - moveGain.Seconds()) / 2
	for _, w := range c.e.workersOf(s.run) {
		if w.number == c.number || !w.planner.lanes.of(s.run).idleFor(moveIdle, now) || !c.able(w, s.run, now) {
			continue
		}
		if needs := left / s.run.paced(w.number.pace()); needs < best {
			best, to = needs, w.number.connection
		}
	}
	return to
}
