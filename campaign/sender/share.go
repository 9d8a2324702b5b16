package sender

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/mutant"
	"campaignd/throttle"
)

// The runs of a number share it by plan.Shares (docs/limits.md#sharing-a-number). Each group of
// intents is filled by start-time fair queueing: a run's tag is the time at which it would have got
// what it has at the rate of its share, and the run with the least tag is next. A run that had
// nothing to send begins at the tag of the one that was served last, so idle time earns nothing
// (Goyal, Vin and Cheng, https://dl.acm.org/doi/10.1145/248157.248171).
//
// Replicas know of each other what their lanes report: which runs want the number there. Each
// divides the number among all of these runs. Where every replica has a segment of each, no more is
// needed. Else a replica asks the limiter for permission, so that those that have a run in plenty
// leave the number to the one that has the other.

// terms are what a run's shares depend on. They change while it is sent.
type terms struct {
	campaign.RunLimits
	ends time.Time // its deadline; zero: none
	need float64   // plan.JustEnough over all numbers, in messages per second
	pace float64   // of all numbers that it can use, in messages per second; 0: not known
}

// terms are the run's terms now; zero before setTerms.
func (r *run) terms() terms {
	if t := r.shared.Load(); t != nil {
		return *t
	}
	return terms{}
}

// ownRate is the run's own limit, in messages per second over all numbers; 0: none.
func (r *run) ownRate() float64 { return r.terms().Rate }

// setTerms takes over the limits of the run, and what it needs for its deadline.
func (e *Engine) setTerms(ctx context.Context, r *run, s campaign.Run, now time.Time) error {
	t := terms{RunLimits: s.LimitsNow(r.definition)}
	t.ends = t.Ends(s.CreatedAt)
	for _, c := range r.connections {
		if _, held := e.holds.by(e.origin(c, r), now); !held {
			t.pace += max(e.o.Pace(c), 0)
		}
	}
	if !t.ends.IsZero() {
		zones, err := e.ledger.Backlog(ctx, r.no)
		if err != nil {
			return fmt.Errorf("read the backlog of %s: %w", r.id, err)
		}
		var groups []plan.Group
		for zone, n := range zones {
			groups = append(groups, plan.Group{Remaining: n, Zones: e.zones.of(r, zone)})
		}
		t.need = plan.JustEnough(now, s.CreatedAt, t.ends, r.window, groups...)
	}
	r.shared.Store(&t)
	return nil
}

// want is the run's part in sharing a number of a pace.
func (t terms) want(pace float64) plan.Want {
	part := 1.0
	if t.pace > 0 {
		part = min(pace/t.pace, 1)
	}
	w := plan.Want{Weight: float64(t.Weight), Rate: t.Rate * part, Deadline: t.ends, Need: t.need * part}
	if t.Class == campaign.ClassBulk {
		w.Class = plan.Bulk
	}
	return w
}

// lanesLive is how long a lane's report counts: two reports and a moment.
const lanesLive = 3 * reportEvery

// readCrowd reads which runs other replicas send over the same numbers. One run alone shares
// nothing.
func (e *Engine) readCrowd(ctx context.Context, active []*run) error {
	var others []campaign.LaneReport
	if len(active) > 1 {
		lanes, err := e.ledger.LiveLanes(ctx, lanesLive)
		if err != nil {
			return fmt.Errorf("read the lanes of other senders: %w", err)
		}
		others = slices.DeleteFunc(lanes, func(l campaign.LaneReport) bool { return l.Owner == e.o.Owner || !l.Wants })
	}
	e.crowd.Store(&others)
	return nil
}

// lot is a run that wants the number now, here or at another replica.
type lot struct {
	run   *run
	rate  float64 // its share, in messages per second
	room  int     // deliveries that may join the queue here
	tag   float64
	slack float64 // the tag follows slack x rate
	n     int     // of them in the next group
	local bool
}

// shareAgain is the shortest wait of a run whose share is used up: the time of a group.
const shareAgain = 50 * time.Millisecond

// divide says which runs want the number now and what each gets of it, the run whose turn it is
// first.
func (p *planner) divide(now time.Time, rate float64) []*lot {
	room := p.sendable(now)
	wanted := map[campaign.RunNo]bool{} // the runs that another replica has
	others := map[string]int{}          // other replicas, and how many runs they have
	for _, l := range *p.e.crowd.Load() {
		if l.Connection != p.number.connection {
			continue
		}
		wanted[l.Run] = true
		others[l.Owner]++
	}
	runs := p.activeRuns()
	var lots []*lot
	var wants []plan.Want
	here := 0
	for i := range runs {
		r := runs[(i+p.turn)%len(runs)]
		if room[r] == 0 && !wanted[r.no] {
			continue
		}
		lots = append(lots, &lot{run: r, room: room[r], local: room[r] > 0, slack: 1})
		wants = append(wants, r.terms().want(rate))
		if room[r] > 0 {
			here++
		}
	}
	// Whether some replica lacks a run that another has.
	p.uneven = here > 0 && len(others) > 0 && here < len(lots)
	for _, n := range others {
		p.uneven = p.uneven || n < len(lots)
	}
	got := plan.Shares(rate, wants)
	for i, l := range lots {
		l.rate = got[i]
		if plan.Behind(rate, wants, got, i) {
			p.limit(l.run, "share", fmt.Sprintf("other runs come first: it gets %.4g of the number's %.4g messages per second", l.rate, rate))
		}
	}
	p.lots = lots
	return slices.DeleteFunc(slices.Clone(lots), func(l *lot) bool { return !l.local })
}

// sendable is how many deliveries of each run could be sent now; those that are due again are not
// counted one by one.
func (p *planner) sendable(now time.Time) map[*run]int {
	room := map[*run]int{}
	for _, s := range p.segments {
		if !p.open(s, now) {
			continue
		}
		if !s.exhausted() && s.run.dropping.Load() == nil { // over its limit only retries are left
			room[s.run] += int(s.lease.Hi - s.lease.Mark)
		}
		if s.dueBy(now) {
			room[s.run] += campaign.SegmentSize
		}
	}
	maps.DeleteFunc(room, func(r *run, _ int) bool { return p.standsStill(r, now) })
	return room
}

// choose fills a group of n deliveries with the runs of lots by their shares. A run with a limit of
// its own may have more in the queue than a group, and does not count toward n.
func (p *planner) choose(lots []*lot, now time.Time, n, most int) {
	active := p.activeRuns()
	maps.DeleteFunc(p.tags, func(r *run, _ float64) bool { return !slices.Contains(active, r) })
	for _, l := range lots {
		l.tag = max(p.tags[l.run], p.virtual)
		own := l.run.ownRate()
		if own > 0 { // its part of the queue may have been full meanwhile, which is no idle time
			l.tag = max(p.tags[l.run], p.virtual-throttle.Horizon.Seconds())
			l.room = min(l.room, p.capacity(l.run, most), p.e.o.GroupMax)
		}
		if now.Before(p.shareUsed[l.run]) {
			l.room = 0
		}
		if own > 0 && l.rate >= 0.99*l.run.terms().want(p.number.pace()).Rate {
			l.slack = 1.05 // its own limit is to bind, not its tag
		}
	}
	for {
		var next *lot
		for _, l := range lots {
			if l.n < l.room && (next == nil || l.tag < next.tag) {
				next = l
			}
		}
		if next == nil {
			break
		}
		if next.run.ownRate() <= 0 {
			if n == 0 {
				break
			}
			n--
		}
		p.virtual = next.tag
		next.n++
		next.tag += next.cost()
	}
	for _, l := range lots {
		p.tags[l.run] = l.tag
	}
}

// cost is what a delivery adds to the run's tag, in seconds.
func (l *lot) cost() float64 { return 1 / max(l.slack*l.rate, throttle.MinRate) }

// permitted is how many of the chosen deliveries of a run its share lets through, over all
// replicas. Together the runs may use 2 % more than the pace, so that none of it is left.
func (p *planner) permitted(ctx context.Context, l *lot, now time.Time) int {
	if !p.uneven || l.n == 0 || mutant.On("share_unasked") {
		return l.n
	}
	key := "share:" + p.number.connection + ":" + l.run.id
	granted, wait, err := p.e.limiter.Allow(ctx, key, max(1.02*l.rate, throttle.MinRate), l.n)
	if err != nil {
		return l.n // nothing is sent without a slot, which cannot be had either
	}
	if granted < l.n {
		p.shareUsed[l.run] = now.Add(max(wait, shareAgain))
	}
	return granted
}

// giveBack takes from the run's tag what it was chosen for and did not use.
func (p *planner) giveBack(l *lot, unused int) {
	p.tags[l.run] -= float64(unused) * l.cost()
}

// shareAt is when the first run whose share is used up may ask again, not later than most from now.
func (p *planner) shareAt(now time.Time, most time.Duration) time.Duration {
	for r, at := range p.shareUsed {
		if wait := at.Sub(now); wait <= 0 {
			delete(p.shareUsed, r)
		} else {
			most = min(most, wait)
		}
	}
	return most
}
