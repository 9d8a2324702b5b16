package sender

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// The runs of a number share it by plan.Shares (docs/limits.md#sharing-a-number). Each group of
// intents is filled by start-time fair queueing: a run's tag grows by 1/share with each delivery,
// and the run with the least tag is next. A run that had nothing to send continues at the tag of
// the run that was served last, so idle time earns no credit (Goyal, Vin and Cheng,
// https://dl.acm.org/doi/10.1145/248157.248171).
//
// The lanes that each replica reports tell the other replicas which runs it wants to send. Each
// replica divides the number among all of these runs. That suffices while every replica has a
// segment of each run. Otherwise each replica asks the limiter for permission (askShare): a replica
// without a segment of a run uses the shares of its own runs alone, and leaves that run's share to
// the others.

// terms are the facts that a run's shares and units depend on. They change while the run is sent.
type terms struct {
	campaign.RunLimits
	marketing bool      // campaign.Run.Marketing
	ends      time.Time // its deadline; zero: none
	need      float64   // plan.JustEnough over all numbers, in messages per second
	pace      float64   // the sum of the paces of its numbers that are not held, in messages per second; 0: not known
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

// setTerms reads the limits and the category of the run, and computes the rate that its deadline
// needs.
func (e *Engine) setTerms(ctx context.Context, r *run, s campaign.Run, now time.Time) error {
	t := terms{RunLimits: r.definition.LimitsOf(s), marketing: s.Marketing}
	t.ends = t.Ends(s.CreatedAt)
	for _, c := range r.connections {
		if _, held := e.heldBy(c, r, now); !held {
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
	changed := t.Rate != r.ownRate()
	r.shared.Store(&t)
	if changed {
		for _, w := range e.workersOf(r) {
			w.queue.readmit(r)
		}
	}
	return nil
}

// want is what the run asks of a number with this pace, for plan.Shares.
func (t terms) want(pace float64) plan.Want {
	part := 1.0
	if t.pace > 0 {
		part = min(pace/t.pace, 1)
	}
	return plan.Want{Class: t.Class, Weight: float64(t.Weight), Rate: t.Rate * part, Deadline: t.ends, Need: t.need * part}
}

// lanesLive is how long a lane's report counts. 3 x reportEvery: up to two reports may be missing.
const lanesLive = 3 * reportEvery

// readOtherLanes reads which runs other replicas send over the same numbers. With one run there is
// nothing to share, so nothing is read.
func (e *Engine) readOtherLanes(ctx context.Context, active []*run) error {
	var others []campaign.LaneReport
	if len(active) > 1 {
		lanes, err := e.ledger.LiveLanes(ctx, lanesLive, e.o.Owner)
		if err != nil {
			return fmt.Errorf("read the lanes of other senders: %w", err)
		}
		others = slices.DeleteFunc(lanes, func(l campaign.LaneReport) bool { return !l.Wants })
	}
	e.otherLanes.Store(&others)
	return nil
}

// flow is one run in the fair queue: this replica or another one has something of it to send now.
type flow struct {
	run   *run
	rate  float64 // its share, in messages per second
	most  int     // deliveries that may join the queue here
	tag   float64
	slack float64 // the tag grows by 1 / (slack x rate) a delivery
	n     int     // deliveries chosen for the next group
	local bool    // it has something to send here
}

// A run whose share is used up asks again after at least shareAgain, the time of a group, and at
// most shareLate, because its share may have grown.
const (
	shareAgain = 50 * time.Millisecond
	shareLate  = time.Second
)

// fairQueue divides a number among its runs.
type fairQueue struct {
	e      *Engine
	number *number
	queue  *queue
	lanes  *lanes // told of each run that gets less because other runs come first

	flows   []*flow            // of this step
	backing []flow             // what flows points to
	given   map[*run]share     // shares
	active  []*run             // for which tags were kept last
	uneven  bool               // some replica of the number has no segment of a run that another sends
	tags    map[*run]float64   // in seconds
	virtual float64            // the tag of the run that was served last
	used    map[*run]time.Time // runs whose share is used up, until then
}

func newFairQueue(e *Engine, n *number, q *queue, l *lanes) fairQueue {
	return fairQueue{e: e, number: n, queue: q, lanes: l, given: map[*run]share{}, tags: map[*run]float64{}, used: map[*run]time.Time{}}
}

// begin starts a step. Tags of runs that are over are forgotten when the engine has told of other
// runs.
func (f *fairQueue) begin(active []*run) {
	f.flows = nil
	if len(active) == len(f.active) && (len(active) == 0 || &active[0] == &f.active[0]) {
		return
	}
	f.active = active
	maps.DeleteFunc(f.tags, func(r *run, _ float64) bool { return !slices.Contains(active, r) })
}

// divide divides the rate of the number among the active runs that want it now. It returns the
// flows of the runs that this replica can send, in the order of active. sendable is how many
// deliveries of each run it can send. The next call changes the answer.
func (f *fairQueue) divide(active []*run, sendable map[*run]int, rate float64) []*flow {
	wanted := map[campaign.RunNo]bool{} // the runs that another replica has
	others := map[string]int{}          // other replicas, and how many runs they have
	for _, l := range *f.e.otherLanes.Load() {
		if l.Connection != f.number.connection {
			continue
		}
		wanted[l.Run] = true
		others[l.Owner]++
	}
	f.backing = slices.Grow(f.backing[:0], len(active)) // never moved while flows point into it
	flows, wants := make([]*flow, 0, len(active)), make([]plan.Want, 0, len(active))
	here := 0
	for _, r := range active {
		if sendable[r] == 0 && !wanted[r.no] {
			continue
		}
		f.backing = append(f.backing, flow{run: r, most: sendable[r], local: sendable[r] > 0, slack: 1})
		flows = append(flows, &f.backing[len(f.backing)-1])
		wants = append(wants, r.terms().want(rate))
		if sendable[r] > 0 {
			here++
		}
	}
	f.uneven = here > 0 && len(others) > 0 && here < len(flows)
	for _, n := range others {
		f.uneven = f.uneven || n < len(flows)
	}
	got := plan.Shares(rate, wants)
	for i, l := range flows {
		l.rate = got[i]
		if plan.Behind(rate, wants, got, i) {
			f.lanes.limit(l.run, campaign.Limit{By: campaign.ByShare,
				Detail: fmt.Sprintf("other runs come first: it gets %.4g of the number's %.4g messages per second", l.rate, rate)})
		}
	}
	f.flows = flows
	return slices.DeleteFunc(slices.Clone(flows), func(l *flow) bool { return !l.local })
}

// choose sets, by the shares, how many deliveries of each flow are in the next group. The runs
// without a rate of their own get n together; a run with one gets at most queue.capacity.
func (f *fairQueue) choose(flows []*flow, now time.Time, n, most int) {
	unposted := f.queue.takeUnposted()
	for _, l := range flows {
		f.giveBack(l, unposted[l.run])
		l.tag = max(f.tags[l.run], f.virtual)
		own := l.run.ownRate()
		if own > 0 { // the run was not idle while its part of the queue was full
			l.tag = max(f.tags[l.run], f.virtual-throttle.Horizon.Seconds())
			l.most = min(l.most, f.queue.capacity(l.run, most), groupMost)
		}
		if now.Before(f.used[l.run]) {
			l.most = 0
		}
		if own > 0 && l.rate >= 0.99*l.run.terms().want(f.number.pace()).Rate {
			l.slack = 1.05 // the run's own limit must slow it, not the fair queue
		}
	}
	for {
		var next *flow
		for _, l := range flows {
			if l.n < l.most && (next == nil || l.tag < next.tag) {
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
		f.virtual = next.tag
		next.n++
		next.tag += next.cost()
	}
	for _, l := range flows {
		f.tags[l.run] = l.tag
	}
}

// cost is what a delivery adds to the run's tag, in seconds.
func (l *flow) cost() float64 { return 1 / max(l.slack*l.rate, throughput.MinRate) }

// askShare asks the limiter, which all replicas share, how many of the chosen deliveries the run's
// share allows. It asks only while uneven is set. Together the runs may use 2 % more than the pace,
// so that the whole pace is used.
func (f *fairQueue) askShare(ctx context.Context, l *flow, now time.Time) int {
	if !f.uneven || l.n == 0 {
		return l.n
	}
	key := "share:" + f.number.connection + ":" + l.run.id
	granted, wait, err := f.e.limiter.Allow(ctx, key, max(1.02*l.rate, throughput.MinRate), l.n)
	if err != nil {
		return l.n // the limiter is away, so no slot can be had and nothing is sent anyway
	}
	if granted < l.n {
		f.used[l.run] = now.Add(min(max(wait, shareAgain), shareLate))
	}
	return granted
}

// giveBack lowers the run's tag by the cost of the deliveries that were chosen and not posted: a
// run with a small share would else wait long for its next turn.
func (f *fairQueue) giveBack(l *flow, unused int) {
	f.tags[l.run] -= float64(unused) * l.cost()
}

// turnBack gives a run the turn back that a retry took. The ledger put the retry off, for example
// for the pair limit: at a 20th of a slow number the next turn would be 20 s away. The turn of a
// first attempt is not given back, because whole lists can be put off.
func (f *fairQueue) turnBack(r *run) {
	for _, l := range f.flows {
		if l.run == r {
			f.giveBack(l, 1)
		}
	}
}

// shares are what the runs get of the number at this step. A run that does not want the number here
// is not among them. The next call changes the answer.
func (f *fairQueue) shares() map[*run]share {
	clear(f.given)
	for _, l := range f.flows {
		if l.local {
			f.given[l.run] = share{l.rate, len(f.flows)}
		}
	}
	return f.given
}

// wait is how long until the first run whose share is used up may ask again; at most most.
func (f *fairQueue) wait(now time.Time, most time.Duration) time.Duration {
	for r, at := range f.used {
		if wait := at.Sub(now); wait <= 0 {
			delete(f.used, r)
		} else {
			most = min(most, wait)
		}
	}
	return most
}
