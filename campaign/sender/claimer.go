package sender

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// handBackTime is the longest time for the release of segments that could not be taken. 2s: one
// commit on a slow disk and its repetition.
const handBackTime = 2 * time.Second

// claimer keeps the segments that a number owns: it claims them, gives them back, and moves them to
// other connections of their run. All of it belongs to the planner's goroutine.
type claimer struct {
	e       *Engine
	number  *number
	queue   *queue
	renewer *renewer
	planner signal // wakes it
	lanes   *lanes
	waits   *waits

	segments  []*segment
	claimedAt time.Time // when there was nothing to claim
	begunAt   time.Time // the engine's last reading of begun segments that left nothing to claim
}

// claim claims segments of the runs; among equals the first run comes first. It asks for any free
// segment of the runs of which the number has too little, and the ledger gives the segments of this
// connection first. If there was none, it asks for begun segments of the other runs. It reports
// whether the ledger answered.
func (c *claimer) claim(ctx context.Context, runs []*run, now time.Time, rate float64) (asked bool, err error) {
	if len(runs) == 0 || now.Sub(c.claimedAt) < c.e.o.Tick {
		return false, nil
	}
	w := c.wants(runs, now, rate)
	if len(w.short) > 0 {
		free, read, err := c.e.freeNow(ctx, now)
		if err != nil {
			return false, fmt.Errorf("read free segments: %w", err)
		}
		asked = read
		w.short = slices.DeleteFunc(w.short, func(no campaign.RunNo) bool { return !free.mayHave(no, c.number.connection) })
	}
	// One at a time: the numbers of a run take turns, so that one of them does not send a short
	// list, or the end of a long one, while the others have nothing to do.
	ask := campaign.Claim{Owner: c.e.o.Owner, Connection: c.number.connection, Runs: w.short, Max: 1, Lease: c.e.o.Lease}
	var leases []campaign.Lease
	if len(w.short) > 0 {
		if leases, err = c.e.ledger.Claim(ctx, ask); err != nil {
			return false, fmt.Errorf("claim segments: %w", err)
		}
		asked = true
	}
	if len(leases) == 0 && w.begunToo {
		for _, again := range []campaign.Claim{{Runs: w.begun}, {Runs: w.begunOwn, SameConnection: true}} {
			if len(leases) > 0 || len(again.Runs) == 0 {
				continue
			}
			ask.Runs, ask.Begun, ask.SameConnection = again.Runs, true, again.SameConnection
			if leases, err = c.e.ledger.Claim(ctx, ask); err != nil {
				return asked, fmt.Errorf("claim begun segments: %w", err)
			}
			asked = true
		}
		if len(leases) == 0 { // else there may be more
			c.begunAt = w.readAt
		}
	}
	if len(leases) == 0 {
		c.claimedAt = now
		return asked, nil
	}
	return asked, c.takeAll(ctx, runs, leases, now)
}

// wanted names the runs of which a number may claim a segment, in the order of preference.
type wanted struct {
	short    []campaign.RunNo // of which the number has too little: any free segment
	begun    []campaign.RunNo // which have begun segments that this number can claim
	begunOwn []campaign.RunNo // which have begun segments that only this number can claim
	begunToo bool             // segments of begun and begunOwn may be claimed
	readAt   time.Time        // when the engine found them
}

// wants chooses the runs to claim of. A number owns less than five seconds of work: at most
// ceil(rate x 5 s / 4096) + 1 segments, so that few deliveries wait after its death
// (docs/protocol.md#leases), and one of each run, so that a long run does not keep another waiting.
// It claims new segments as fast as it sends them: a list so spreads over numbers of different
// rates. Beyond that it claims begun segments: the deliveries of a dead owner do not wait until its
// own are sent.
func (c *claimer) wants(runs []*run, now time.Time, rate float64) (w wanted) {
	busy := make(map[*run]int, len(runs)) // segments with deliveries that had no intent yet
	sum, left := 0, 0.0
	stopped := make(map[*run]bool, len(runs))
	for _, r := range runs {
		stopped[r] = r.skipping.Load() == nil && (c.waits.heldLong(r, now) || c.waits.long(r, now))
	}
	for _, s := range c.segments {
		if !s.exhausted() && !s.lost.Load() {
			busy[s.run]++
			if !stopped[s.run] { // it takes nothing away from the others
				sum++
				left += float64(s.lease.Hi - s.lease.Mark)
			}
		}
	}
	most := min(int(math.Ceil(rate*5/campaign.SegmentSize))+1, 8)
	begun := c.e.begun.Load()
	var short []*run
	for _, r := range runs {
		switch free, own := begun.of(r.no, c.number.connection); {
		case free && !(stopped[r] && c.anyAble(r, now)):
			w.begun = append(w.begun, r.no)
		case own:
			w.begunOwn = append(w.begunOwn, r.no)
		}
		if stopped[r] && (busy[r] > 0 || len(r.connections) > 1) { // the run's other connections can send it
			continue
		}
		if sum < most && left < rate*5 || busy[r] == 0 {
			short = append(short, r)
		}
	}
	slices.SortStableFunc(short, func(a, b *run) int { return busy[a] - busy[b] })
	for _, r := range short {
		w.short = append(w.short, r.no)
	}
	w.readAt = begun.readAt
	w.begunToo = len(w.short) < len(runs) && len(c.segments) < most+len(runs)+begunMost && w.readAt.After(c.begunAt)
	return w
}

// takeAll takes the leased segments. After a fault it hands back those that are left, also if the
// fault is the end of ctx. The next claim recovers again.
func (c *claimer) takeAll(ctx context.Context, runs []*run, leases []campaign.Lease, now time.Time) error {
	defer func() { c.renewer.keep(c.segments) }()
	for i, l := range leases {
		r := runs[slices.IndexFunc(runs, func(r *run) bool { return r.no == l.Run })]
		if err := c.take(ctx, r, l, now); err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTime)
			defer cancel()
			for _, l := range leases[i:] {
				c.handBack(ctx, l, nil)
			}
			return err
		}
	}
	return nil
}

// take adds a leased segment to the number's, after the deliveries that an earlier owner left
// without an outcome have been recovered.
func (c *claimer) take(ctx context.Context, r *run, l campaign.Lease, now time.Time) error {
	s := newSegment(r, l, c.planner)
	s.zones = c.e.zones.of(r, l.Group)
	// Below the mark without an outcome: the earlier owner may have posted it.
	if l.Mark > l.Lo || l.Recovered {
		n, err := c.e.ledger.Recover(ctx, l, now)
		switch {
		case errors.Is(err, campaign.ErrFenced):
			return nil
		case err != nil:
			return fmt.Errorf("recover segment: %w", err)
		case n > 0:
			c.number.counts.recovered.Add(int64(n))
			c.e.o.Log.Info("deliveries of an earlier owner are in doubt",
				"run", r.id, "connection", c.number.connection, "deliveries", n)
		}
		if err := c.resolve(ctx, r, l, now); err != nil {
			return err
		}
		s.due(now) // deferred deliveries may be waiting
	}
	if l.Mark > l.Lo { // begun segments are finished first
		c.segments = slices.Insert(c.segments, 0, s)
	} else {
		c.segments = append(c.segments, s)
	}
	return nil
}

// resolve decides the doubts of a segment whose window is over. By a clock that may be wrong none
// is.
func (c *claimer) resolve(ctx context.Context, r *run, l campaign.Lease, now time.Time) error {
	if _, known := c.e.o.Expiry.Now(); !known {
		return nil
	}
	listening, err := c.e.listening.read(ctx, now)
	if err != nil {
		return err
	}
	for _, over := range listening.Over(r.doubtWindow) {
		held, began := listening.Split(over, r.doubtWindow)
		if fenced, err := c.end(ctx, r, l, held, campaign.UncertainHold); fenced || err != nil {
			return err
		}
		if !began.Since.Before(began.Until) {
			continue
		}
		policy, err := c.evident(ctx, r.policy, mayHaveSent(r, l), began)
		if err != nil {
			return err
		}
		if fenced, err := c.end(ctx, r, l, began, policy); fenced || err != nil {
			return err
		}
	}
	return nil
}

// end ends the doubts that began in a span. It reports true when the segment has another owner.
func (c *claimer) end(ctx context.Context, r *run, l campaign.Lease, began reception.Span, policy campaign.OnUncertain) (bool, error) {
	if !began.Since.Before(began.Until) {
		return false, nil
	}
	n, err := c.e.ledger.Resolve(ctx, l, began, policy)
	switch {
	case errors.Is(err, campaign.ErrFenced):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("resolve doubts: %w", err)
	case n > 0:
		c.e.o.Log.Info("doubt window is over", "run", r.id, "deliveries", n, "policy", policy)
	}
	return false, nil
}
