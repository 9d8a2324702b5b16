package sender

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
)

// handBackTime is how long segments that were not taken up may take to be released. 2s: one commit
// on a slow disk and its repetition.
const handBackTime = 2 * time.Second

// claim takes up segments while the planner holds less than five seconds of work: at most ceil(rate
// x 5 s / 4096) + 1, so that a death strands little (docs/protocol.md#leases), and one of each run,
// so that a long run does not keep another waiting. A number takes up what is not begun as fast as
// it sends it: that is how a list spreads over numbers of different rates. Segments that an earlier
// owner began are taken up beyond that: a dead owner's deliveries do not wait until this one's are
// sent.
func (p *planner) claim(ctx context.Context, now time.Time, rate float64) error {
	runs := p.activeRuns()
	if len(runs) == 0 || now.Sub(p.claimedAt) < p.e.o.Tick {
		return nil
	}
	busy := make(map[*run]int, len(runs)) // segments with deliveries that had no intent yet
	sum, left := 0, 0.0
	stopped := make(map[*run]bool, len(runs))
	for _, r := range runs {
		stopped[r] = r.dropping.Load() == nil && (p.heldLong(r, now) || p.waits.long(r, now))
	}
	for _, s := range p.segments {
		if !s.exhausted() && !s.lost.Load() {
			busy[s.run]++
			if !stopped[s.run] { // it takes nothing away from the others
				sum++
				left += float64(s.lease.Hi - s.lease.Mark)
			}
		}
	}
	most := min(int(math.Ceil(rate*5/campaign.SegmentSize))+1, 8)
	byNo := make(map[campaign.RunNo]*run, len(runs))
	begun := p.e.begun.Load()
	var order, begunAny, begunBound []campaign.RunNo
	for _, r := range p.runsInTurn() {
		byNo[r.no] = r
		switch any, bound := begun.of(r.no, p.number.connection); {
		case any && !(stopped[r] && p.e.anyAble(p, r, now)):
			begunAny = append(begunAny, r.no)
		case bound:
			begunBound = append(begunBound, r.no)
		}
		if stopped[r] && (busy[r] > 0 || len(r.connections) > 1) { // the run's other connections can send it
			continue
		}
		if sum < most && left < rate*5 || busy[r] == 0 {
			order = append(order, r.no)
		}
	}
	slices.SortStableFunc(order, func(a, b campaign.RunNo) int { return busy[byNo[a]] - busy[byNo[b]] })
	// One at a time: the numbers of a run take turns, so that one of them does not send a short list,
	// or the end of a long one, while the others have nothing to do.
	c := campaign.Claim{Owner: p.e.o.Owner, Connection: p.number.connection, Runs: order, Max: 1, Lease: p.e.o.Lease}
	var leases []campaign.Lease
	var err error
	if len(order) > 0 {
		if leases, err = p.e.ledger.Claim(ctx, c); err != nil {
			return fmt.Errorf("claim segments: %w", err)
		}
	}
	p.heard = p.heard || len(order) > 0
	if len(leases) == 0 && len(order) < len(runs) && len(p.segments) < most+len(runs)+begunMost && begun.asked.After(p.begunAt) {
		for _, again := range []campaign.Claim{{Runs: begunAny}, {Runs: begunBound, Bound: true}} {
			if len(leases) > 0 || len(again.Runs) == 0 {
				continue
			}
			c.Runs, c.Begun, c.Bound = again.Runs, true, again.Bound
			if leases, err = p.e.ledger.Claim(ctx, c); err != nil {
				return fmt.Errorf("claim segments that were begun: %w", err)
			}
			p.heard = true
		}
		if len(leases) == 0 { // else there may be more
			p.begunAt = begun.asked
		}
	}
	if len(leases) == 0 {
		p.claimedAt = now
	}
	if len(leases) > 0 {
		defer func() { p.renewer.keep(p.segments) }()
	}
	for i, l := range leases {
		if err := p.take(ctx, byNo[l.Run], l, now); err != nil {
			// Also when ctx has ended: that may be why they were not taken up. The next claim
			// recovers again.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTime)
			defer cancel()
			for _, l := range leases[i:] {
				p.handBack(ctx, l, nil)
			}
			return err
		}
	}
	return nil
}

// take adds a leased segment to the planner's, after the deliveries that an earlier owner left
// without an outcome have been recovered.
func (p *planner) take(ctx context.Context, r *run, l campaign.Lease, now time.Time) error {
	s := newSegment(r, l, p.poke)
	s.zones = p.e.zones.of(r, l.Group)
	// Below the mark without an outcome: the earlier owner may have posted it.
	if l.Mark > l.Lo || l.Recovered {
		n, err := p.e.ledger.Recover(ctx, l, now)
		switch {
		case errors.Is(err, campaign.ErrFenced):
			return nil
		case err != nil:
			return fmt.Errorf("recover segment: %w", err)
		case n > 0:
			p.number.counts.recovered.Add(int64(n))
			p.e.o.Log.Info("deliveries of an earlier owner are in doubt",
				"run", r.id, "connection", p.number.connection, "deliveries", n)
		}
		if err := p.resolve(ctx, r, l, now); err != nil {
			return err
		}
		s.due(now) // deferred deliveries may be waiting
	}
	if l.Mark > l.Lo { // what was begun is ended first
		p.segments = slices.Insert(p.segments, 0, s)
	} else {
		p.segments = append(p.segments, s)
	}
	return nil
}

// resolve decides the doubts of a segment whose window is over.
func (p *planner) resolve(ctx context.Context, r *run, l campaign.Lease, now time.Time) error {
	listening, err := p.e.listening.read(ctx, now)
	if err != nil {
		return err
	}
	for _, began := range listening.Over(r.doubtWindow) {
		policy, err := p.evident(ctx, r.policy, mayHaveSent(r, l), began)
		if err != nil {
			return err
		}
		n, err := p.e.ledger.Resolve(ctx, l, began, policy)
		switch {
		case errors.Is(err, campaign.ErrFenced):
			return nil
		case err != nil:
			return fmt.Errorf("resolve doubts: %w", err)
		case n > 0:
			p.e.o.Log.Info("doubt window is over", "run", r.id, "deliveries", n, "policy", policy)
		}
	}
	return nil
}
