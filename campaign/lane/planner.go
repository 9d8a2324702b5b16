package lane

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
	"campaignd/throttle"
)

// readAhead is how many deliveries a segment reads at once: a quarter of it, so
// that memory stays small and a read is short.
const readAhead = campaign.SegmentSize / 4

// lookAgain is how often an owned segment is searched for deferred deliveries
// whose time was set by an earlier owner.
const lookAgain = 5 * time.Second

// A pacer that has enough to do looks for what others have begun once a second, and holds at most 8 segments
// more for it: what two dead replicas leave behind.
const (
	begunEvery = time.Second
	begunMost  = 8
)

// plan is the planner: it takes up segments, keeps one group of shots ahead of
// the poster, and parks what has nothing to do.
func (p *pacer) plan(ctx context.Context) {
	failed, said := time.Duration(0), ""
	var last error
	for ctx.Err() == nil {
		p.heard = false
		wait, err := p.step(ctx)
		switch {
		case err == nil && failed > 0 && !p.heard: // the ledger was not asked: nothing is known of it
			p.heldUp(last)
		case err == nil:
			if failed > 0 {
				p.e.o.Log.Info("the ledger takes sending up again", "connection", p.connection)
			}
			failed, said = 0, ""
		case ctx.Err() != nil:
			return
		default:
			failed = min(max(2*failed, 100*time.Millisecond), 2*time.Second)
			wait, last = failed, err
			p.heldUp(err)
			if why := cause(err); why != said { // once, not at each try
				said = why
				p.e.o.Log.Error("sending is held up by the ledger: trying again until it is not", "connection", p.connection, "err", err)
			}
		}
		if wait <= 0 {
			continue
		}
		t := time.NewTimer(p.jitter("plan", wait))
		select {
		case <-ctx.Done():
		case <-p.poke:
			p.e.calm(ctx, p.connection, p.poke)
		case <-t.C:
		}
		t.Stop()
	}
}

// cause is what an error says without what was being done: several calls meet the same fault in turn.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// heldUp tells `why` that the ledger binds every lane.
func (p *pacer) heldUp(err error) {
	bound := map[campaign.RunNo]binding{}
	for _, r := range p.activeRuns() {
		bound[r.no] = binding{"ledger", "held up by the ledger: " + err.Error()}
	}
	p.mu.Lock()
	p.bound = bound
	p.mu.Unlock()
}

// step does what is due and says how long nothing will be.
func (p *pacer) step(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	p.feed(now, 0, 0)
	rate := p.pace()
	p.binding = map[campaign.RunNo]binding{}
	defer func() {
		busy := map[campaign.RunNo]bool{}
		for _, r := range p.activeRuns() {
			busy[r.no] = p.hasWork(r)
		}
		p.mu.Lock()
		p.bound, p.busy = p.binding, busy
		p.mu.Unlock()
	}()
	if err := p.tend(ctx, now); err != nil {
		return 0, err
	}
	if err := p.claim(ctx, now, rate); err != nil {
		return 0, err
	}
	group := p.group(rate)
	room := 2*group - p.queue.len()
	if room < group { // a whole group is ahead: wait until the poster has taken half of the queue
		return p.e.o.Tick, nil
	}
	asked, err := p.intend(ctx, now, group)
	if err != nil || asked {
		return 0, err
	}
	return p.e.o.Tick, nil
}

// claim takes up segments when the pacer holds less than a few seconds of work: at most ceil(rate x 5 s / 4096) + 1,
// so that a death strands little (reliability.md 2.1), and one of each run, so that a long run does not keep
// another waiting. What somebody has begun is taken up beyond that, so that a dead owner's deliveries do not wait until
// this one's are sent.
func (p *pacer) claim(ctx context.Context, now time.Time, rate float64) error {
	runs := p.activeRuns()
	if len(runs) == 0 || now.Sub(p.claimedAt) < p.e.o.Tick {
		return nil
	}
	busy := make(map[*run]int, len(runs)) // segments with deliveries that had no intent yet
	sum := 0
	for _, s := range p.segments {
		if !s.exhausted() && !s.lost.Load() {
			busy[s.run]++
			sum++
		}
	}
	most := min(int(math.Ceil(rate*5/campaign.SegmentSize))+1, 8)
	byNo := make(map[campaign.RunNo]*run, len(runs))
	var order, all []campaign.RunNo
	for i := range runs {
		r := runs[(i+p.turn)%len(runs)]
		byNo[r.no] = r
		all = append(all, r.no)
		if sum < most || busy[r] == 0 {
			order = append(order, r.no)
		}
	}
	slices.SortStableFunc(order, func(a, b campaign.RunNo) int { return busy[byNo[a]] - busy[byNo[b]] })
	// One at a time: the numbers of a run take turns, so that a short list, or the end of a long one,
	// is not sent by one of them while the others have nothing to do.
	c := campaign.Claim{Owner: p.e.o.Owner, Connection: p.connection, Runs: order, Max: 1, Lease: p.e.o.Lease}
	var leases []campaign.Lease
	var err error
	if len(order) > 0 {
		if leases, err = p.e.ledger.Claim(ctx, c); err != nil {
			return fmt.Errorf("claim segments: %w", err)
		}
	}
	p.heard = p.heard || len(order) > 0
	if len(leases) == 0 && len(order) < len(all) && len(p.segments) < most+len(runs)+begunMost && now.Sub(p.begunAt) >= begunEvery {
		p.begunAt = now
		c.Runs, c.Begun = all, true
		if leases, err = p.e.ledger.Claim(ctx, c); err != nil {
			return fmt.Errorf("claim segments that were begun: %w", err)
		}
		p.heard = true
		if len(leases) > 0 {
			p.begunAt = time.Time{} // there may be more
		}
	}
	if len(leases) == 0 {
		p.claimedAt = now
	}
	for _, l := range leases {
		s := newSegment(byNo[l.Run], l)
		// Below the mark without an outcome: the earlier owner may have posted it.
		if l.Mark > l.Lo || l.Recovered {
			n, err := p.e.ledger.Recover(ctx, l, now)
			switch {
			case errors.Is(err, campaign.ErrFenced):
				continue
			case err != nil:
				return fmt.Errorf("recover segment: %w", err)
			case n > 0:
				p.counts.recovered.Add(int64(n))
				p.e.o.Log.Info("deliveries of an earlier owner are in doubt", "run", s.run.id, "connection", p.connection, "deliveries", n)
			}
			older := now.Add(-s.run.doubtWindow)
			if n, err = p.e.ledger.Resolve(ctx, l, older, s.run.policy); err != nil && !errors.Is(err, campaign.ErrFenced) {
				return fmt.Errorf("resolve doubts: %w", err)
			} else if n > 0 {
				p.e.o.Log.Info("doubt window is over", "run", s.run.id, "deliveries", n, "policy", s.run.policy)
			}
			s.due(now) // deferred deliveries may be waiting
		}
		if l.Mark > l.Lo { // what was begun is ended first
			p.segments = slices.Insert(p.segments, 0, s)
		} else {
			p.segments = append(p.segments, s)
		}
	}
	if len(leases) > 0 {
		p.share()
	}
	return nil
}

// share publishes the segments to the renewer.
func (p *pacer) share() {
	c := slices.Clone(p.segments)
	p.segShared.Store(&c)
}

// tend gives back segments that are lost, held, closed, dropped or finished.
func (p *pacer) tend(ctx context.Context, now time.Time) error {
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
		p.share()
	}
	return nil
}

// tendOne reports true when the pacer no longer owns the segment.
func (p *pacer) tendOne(ctx context.Context, s *segment, active bool, now time.Time) (bool, error) {
	if s.lost.Load() || s.run.held.Load() || s.run.over() || !active {
		p.unpost(s)
	}
	if s.lost.Load() {
		return s.pending.Load() == 0, nil
	}
	// Again when a result came in that may be retried: it was in flight while the rest was dropped.
	if reason := s.run.dropping.Load(); reason != nil && (!s.dropped || s.nextDue.Load() != 0) {
		s.nextDue.Store(0)
		n, err := p.e.ledger.Drop(ctx, s.lease, *reason)
		if err != nil {
			return false, fmt.Errorf("drop what is queued: %w", err)
		}
		s.dropped, s.buf = true, nil
		s.lease.Mark = s.lease.Hi
		p.counts.skipped.Add(int64(n))
	}
	if s.pending.Load() > 0 {
		return false, nil
	}
	opens, err := s.closedUntil(now)
	if err != nil {
		return false, err
	}
	var wake time.Time
	switch {
	case s.run.held.Load() || !active:
		wake = now
	case !opens.IsZero() && !s.dropped:
		wake = opens
		p.bind(s.run, "window", "outside the sending window until "+opens.UTC().Format(time.RFC3339))
	case s.exhausted() && !s.dueSoon(now):
	default:
		return false, nil
	}
	parked, err := p.e.ledger.Park(ctx, s.lease, wake, s.run.doubtWindow)
	if err != nil {
		return false, fmt.Errorf("park segment: %w", err)
	}
	p.claimedAt = time.Time{}
	if parked.Done {
		p.e.Poke()
	}
	return true, nil
}

// dueSoon reports whether a deferred delivery comes due within a second, so that
// parking is not worth it.
func (s *segment) dueSoon(now time.Time) bool { return s.dueBy(now.Add(time.Second)) }

// unpost takes the segment's shots out of the queue and records the fact that
// they were never posted.
func (p *pacer) unpost(s *segment) {
	for _, sh := range p.queue.remove(func(sh *shot) bool { return sh.seg == s }) {
		p.settle(sh, notPosted(sh, p.connection, time.Now(), "held"))
	}
}

// intend commits the next group and queues its shots. It reports whether there
// was anything to ask for.
func (p *pacer) intend(ctx context.Context, now time.Time, group int) (bool, error) {
	intents, slots, err := p.compose(ctx, now, group)
	if err != nil || len(intents) == 0 {
		return false, err
	}
	began := time.Now()
	ask := make([]campaign.Intent, len(intents))
	for i := range intents {
		ask[i] = intents[i].Intent
	}
	granted, err := p.e.ledger.Intend(ctx, ask)
	if err != nil {
		if errors.Is(err, campaign.ErrUnknownCommit) {
			// Nobody may post these: whoever claims the segments next writes the doubts.
			for i := range intents {
				intents[i].seg.lost.Store(true)
			}
		}
		return false, fmt.Errorf("commit intents: %w", err)
	}
	p.heard = true
	mutant.Crash("intent_committed")
	var shots []*shot
	for i := range granted {
		shots = append(shots, p.admit(ctx, intents[i], granted[i], slots, began)...)
	}
	p.queue.push(shots)
	return true, nil
}

// draft is an intent in the making.
type draft struct {
	campaign.Intent
	seg  *segment
	rows []campaign.Delivery // of From..To
}

// admit turns a granted intent into shots.
func (p *pacer) admit(ctx context.Context, d draft, g campaign.Granted, slots map[*run][]time.Time, began time.Time) []*shot {
	s := d.seg
	if g.Fenced {
		s.lost.Store(true)
		return nil
	}
	if g.OverBudget {
		s.run.drop(campaign.OverLimit) // also when an earlier process has used the budget up
	}
	if g.Held {
		if !g.OverBudget {
			s.run.held.Store(true) // until the next refresh finds it active again
		}
		p.e.Poke()
		return nil
	}
	var shots []*shot
	add := func(dl campaign.Delivery, attempt, tries int) {
		if reason, skipped := g.Skipped[dl.Seq]; skipped {
			p.counts.skipped.Add(1)
			p.e.o.Log.Debug("skipped at the intent", "run", s.run.id, "row", dl.Row, "reason", reason)
			return
		}
		sh := &shot{seg: s, delivery: dl, attempt: attempt, tries: tries, intentAt: began}
		if at := slots[s.run]; len(at) > 0 {
			sh.notBefore, sh.slotted, slots[s.run] = at[0], true, at[1:]
		}
		shots = append(shots, sh)
	}
	for _, r := range d.Retries {
		add(r.Delivery, r.Attempt, r.Tries)
	}
	for i := range d.rows {
		if d.rows[i].Seq >= g.To {
			break
		}
		add(d.rows[i], 1, 0)
	}
	if g.To > s.lease.Mark {
		s.buf = s.buf[min(int(g.To-s.lease.Mark), len(s.buf)):]
		s.lease.Mark = g.To
	}
	s.lease.Connection = p.connection
	s.pending.Add(int64(len(shots)))
	return shots
}

// compose chooses up to group deliveries: runs take turns, due retries go to the
// head of their own run (throttle.md 6.2).
func (p *pacer) compose(ctx context.Context, now time.Time, group int) ([]draft, map[*run][]time.Time, error) {
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
			return nil, nil, err
		}
		for _, s := range p.segments {
			if take <= 0 {
				break
			}
			if s.run != r || s.lost.Load() || !s.mayPost(now, p.e.o.Lease/5) {
				continue
			}
			if opens, err := s.closedUntil(now); err != nil || !opens.IsZero() {
				continue // tend parks it
			}
			d, err := p.draft(ctx, s, now, take)
			if err != nil {
				return nil, nil, err
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

// capped asks the run's own limit (limits.rate) for up to n instants.
func (p *pacer) capped(ctx context.Context, r *run, now time.Time, n int, slots map[*run][]time.Time) (int, error) {
	if r.rate <= 0 {
		return n, nil
	}
	if !p.hasWork(r) {
		return 0, nil
	}
	if now.Before(p.capUntil[r]) {
		p.bind(r, "cap", ownLimit(r.rate))
		return 0, nil
	}
	leased, err := p.e.limiter.Lease(ctx, "run:"+r.id, r.rate, n)
	if errors.Is(err, throttle.ErrUnavailable) {
		if ctx.Err() == nil {
			p.unasked(now, err)
		}
		return 0, nil // asked again at the next tick
	}
	if err != nil {
		return 0, fmt.Errorf("lease the campaign's own slots: %w", err)
	}
	p.answered()
	if leased.N == 0 {
		p.capUntil[r] = now.Add(leased.Wait)
		p.bind(r, "cap", ownLimit(r.rate))
		time.AfterFunc(leased.Wait, p.wake)
		return 0, nil
	}
	for i := range leased.N {
		slots[r] = append(slots[r], leased.At(i))
	}
	if leased.N < n {
		p.bind(r, "cap", ownLimit(r.rate))
	}
	return leased.N, nil
}

func (p *pacer) hasWork(r *run) bool {
	return slices.ContainsFunc(p.segments, func(s *segment) bool {
		return s.run == r && !s.lost.Load() && (!s.exhausted() || s.nextDue.Load() != 0)
	})
}

// draft fills an intent of one segment with up to n deliveries.
func (p *pacer) draft(ctx context.Context, s *segment, now time.Time, n int) (draft, error) {
	d := draft{seg: s, Intent: campaign.Intent{
		Lease: s.lease, Owner: p.e.o.Owner, Connection: p.connection, From: s.lease.Mark, To: s.lease.Mark,
	}}
	if s.dueBy(now) || now.Sub(s.checked) >= lookAgain {
		s.checked = now
		s.nextDue.Store(0)
		due, err := p.e.ledger.Due(ctx, s.lease, now, n)
		if err != nil {
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
