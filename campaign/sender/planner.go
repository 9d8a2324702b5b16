package sender

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// planner turns deliveries of the number's segments into attempts with a committed intent. It asks
// for the next group when one group is left in the queue, or less than one if other replicas send
// over the number too. The queue has at most two groups, and what each run with a limit of its own
// may have.
type planner struct {
	e       *Engine
	number  *number
	queue   *queue
	claimer *claimer
	poke    signal      // wakes it
	invited atomic.Bool // another number of this process is about to commit intents

	lanes lanes // what each step finds out, for `why` and the other workers

	mu   sync.Mutex
	runs []*run

	// The goroutine of run alone uses the fields below. A step fills the maps; the next one clears
	// them, because a number with hundreds of runs steps up to 20 times a second.
	counts map[*run]int  // sendable
	works  map[*run]bool // working
	turn   int           // grows with each group; decides which run is first among equals
	fair   fairQueue     // divides the number among the runs
	waits  *waits
	units  units         // draws from the quotas of the connection
	test   breakerTest   // of the half-open breaker
	own    processRate   // what this process posts over the number
	slow   time.Duration // twice the time that commits of intents took lately (took)
	heard  bool          // the ledger answered in this step
	outage error         // the error of the last step that asked the ledger; nil: it answered
	failed time.Time     // when that step ended
}

func newPlanner(e *Engine, n *number, q *queue, w *renewer, poke signal) *planner {
	p := &planner{e: e, number: n, queue: q, poke: poke, lanes: newLanes(), counts: map[*run]int{}, works: map[*run]bool{},
		units: newUnits(e.o, n), test: breakerTest{e: e, number: n}}
	p.fair, p.waits = newFairQueue(e, n, q, &p.lanes), &waits{e: e, number: n, lanes: &p.lanes, of: map[*run]waiting{}}
	p.claimer = &claimer{e: e, number: n, queue: q, renewer: w, planner: poke, lanes: &p.lanes, waits: p.waits}
	return p
}

// setRuns tells the planner the active runs. It keeps the runs of its number, and wakes if they are
// others than before.
func (p *planner) setRuns(active []*run) {
	var mine []*run
	for _, r := range active {
		if slices.Contains(r.connections, p.number.connection) {
			mine = append(mine, r)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.runs, mine) {
		p.runs = mine
		p.poke.send()
	}
}

func (p *planner) activeRuns() []*run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

// runsInTurn returns the active runs, beginning with the one whose turn it is.
func (p *planner) runsInTurn() []*run {
	runs := p.activeRuns()
	if len(runs) == 0 {
		return nil
	}
	first := p.turn % len(runs)
	return slices.Concat(runs[first:], runs[:first])
}

// run plans until ctx ends.
func (p *planner) run(ctx context.Context) {
	failed, said := time.Duration(0), ""
	for ctx.Err() == nil {
		wait, err := p.step(ctx)
		switch {
		case err == nil && p.outage != nil: // this step did not ask the ledger, so the outage may still last
		case err == nil:
			if said != "" {
				p.e.o.Log.Info("the ledger answers again; sending resumes", "connection", p.number.connection)
			}
			failed, said = 0, ""
		case ctx.Err() != nil:
			return
		default:
			failed = min(max(2*failed, 100*time.Millisecond), 2*time.Second)
			wait = failed
			if why := cause(err); why != said && !errors.Is(err, campaign.ErrUnwritable) { // once, not at each try
				said = why
				p.e.o.Log.Error("the ledger does not answer: sending waits until it does",
					"connection", p.number.connection, "err", err)
			}
		}
		if wait = p.number.jitter("plan", wait); wait <= 0 {
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-p.poke:
			p.e.debounce(ctx, p.number.connection, p.poke)
		case <-t.C:
		}
		t.Stop()
	}
}

// cause is the text of the innermost error. One fault of the ledger fails several calls; without
// their names it is logged once.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// step gives back the segments that have nothing to do, claims others, and commits the intents of
// the next group. It returns how long the planner may sleep.
func (p *planner) step(ctx context.Context) (wait time.Duration, err error) {
	now := time.Now()
	rate := p.number.pace()
	p.lanes.begin()
	p.fair.begin(p.activeRuns())
	p.heard = false
	defer func() { p.publish(ctx, err) }()
	p.waits.tell(p.activeRuns(), now)
	p.units.tidy(ctx, p.idles(now))
	if err := p.claimer.giveBack(ctx, p.activeRuns(), now); err != nil {
		return 0, err
	}
	asked, err := p.claimer.claim(ctx, p.runsInTurn(), now, rate)
	if p.heard = asked; err != nil {
		return 0, err
	}
	if rate <= 0 { // the pace is not known: no intent is asked for
		return p.e.o.Tick, nil
	}
	few, group := p.ahead(now, rate), p.group(rate)
	if group == 1 && rate >= rareRate {
		few = 0
	}
	most := 2 * group
	state, b := p.e.circuit(p.number.connection, now)
	if mayProbe, err := p.probe(ctx, now, state, b); err != nil || state == halfOpen && !mayProbe {
		return p.e.o.Tick, err
	}
	if state == halfOpen {
		few, most = 0, testsOf(b)
	}
	p.queue.setLow(few, most)
	limited := p.wantsLimited(now, most)
	unlimited := p.queue.unlimited()
	low, joins := unlimited <= few || limited, p.invited.Swap(false) && state != halfOpen && unlimited < most && group <= smallGroup
	if !low && !joins { // enough attempts are queued; the queue wakes the planner when few are left
		p.divide(now, rate)
		return p.rest(), nil
	}
	asked, err = p.intend(ctx, now, min(most-unlimited, groupMost), most, !joins && group <= smallGroup)
	switch {
	case err != nil || asked && (limited || p.queue.unlimited() <= few): // there may be more to ask for
		return 0, err
	case asked:
		return p.rest(), nil
	}
	return p.fair.wait(now, p.e.o.Tick), nil
}

// rest is how long the planner may sleep while enough attempts are queued.
func (p *planner) rest() time.Duration {
	if p.claimer.claimedAt.IsZero() { // there may be more to claim
		return p.e.o.Tick
	}
	return lookEvery * p.e.o.Tick
}

// publish lets `why` and the other workers read what a step found. After a step that failed, every
// lane shows `ledger` until the ledger has answered a later step, or the engine's question for
// begun segments.
func (p *planner) publish(ctx context.Context, err error) {
	p.heard = p.heard || p.e.begun.Load().readAt.After(p.failed)
	if ctx.Err() == nil && (err != nil || p.heard) {
		p.outage = err
	}
	if err != nil {
		p.failed = time.Now()
	}
	active, works, shares := p.activeRuns(), p.working(), p.fair.shares()
	if p.outage != nil {
		for _, r := range active {
			p.lanes.limit(r, campaign.Limit{By: campaign.ByLedger, Detail: "the ledger does not answer: " + p.outage.Error()})
		}
	}
	p.lanes.publish(active, func(r *run) lane { return lane{works: works[r], share: shares[r]} }, time.Now())
}

// groupMost is the most deliveries in a group, and in one intent of a number.
const groupMost = 256

// group is how many deliveries a group has: as many as are sent in Options.Group at the rate, from
// 1 to groupMost. If slow is longer than Options.Group, slow counts instead: else the poster would
// have no attempts during a commit.
func (p *planner) group(rate float64) int {
	cover := max(p.e.o.Group, p.slow).Seconds()
	return int(min(max(math.Ceil(rate*cover), 1), groupMost))
}

// rareRate is the rate, in messages per second, from which on a number with groups of one asks when
// its queue is empty. Its next slot is 50 to 100 ms away then, as far as a group lasts. Hundreds of
// such numbers then ask together (invite), where each would ask alone after each of its messages.
const rareRate = 10

// smallGroup is the largest group that shares its transaction with those of other numbers: 16
// deliveries, which is a group at 320 messages a second. A larger group commits alone: its
// transaction is cheap for each of its deliveries.
const smallGroup = 16

// mostCover is the longest sending that a group covers over a slow ledger. Two groups are in doubt
// after a death.
const mostCover = 250 * time.Millisecond

// took notes how long a commit of intents took. A slow commit raises slow at once to twice its
// time, because the next commit may begin late. Each quicker commit lowers slow by at most a tenth.
func (p *planner) took(d time.Duration) {
	p.slow = min(max(2*d, p.slow*9/10), mostCover)
}

// ahead is the length of the queue at which the planner asks for more: one group at the rate that
// this process had lately. Beside other replicas that is less than the number's rate. The planner
// then asks later, and for more at a time: with a quarter of the rate for eight attempts in place
// of five. If the rate is not known, or the queue is empty, the number's whole rate counts.
func (p *planner) ahead(now time.Time, rate float64) int {
	own := p.own.measure(now, p.number.counts.posted.Load())
	if own == 0 || p.queue.empty() {
		p.own.perSecond, own = rate, rate
	}
	return p.group(min(own, rate))
}

// processRate is what this process posts over a number.
type processRate struct {
	perSecond float64
	at        time.Time // when that was measured
	posts     int64     // how many posts there were then
}

// ownEvery is how often a process's own rate is measured.
const ownEvery = time.Second

func (o *processRate) measure(now time.Time, posts int64) float64 {
	if since := now.Sub(o.at); since >= ownEvery {
		o.perSecond = float64(posts-o.posts) / since.Seconds()
		o.at, o.posts = now, posts
	}
	return o.perSecond
}

// release gives every segment back, with its attempts that were not posted. If a segment has
// another owner by now, its attempts are recorded as not posted, like any other fact.
func (p *planner) release(ctx context.Context) {
	unposted := map[*segment][]int64{}
	for _, a := range p.queue.remove(func(*attempt) bool { return true }) {
		if a.segment.lost.Load() {
			p.e.rec.record(p.number, a, notPosted(time.Now()))
			continue
		}
		unposted[a.segment] = append(unposted[a.segment], a.delivery.Seq)
		a.charge.refund()
		a.segment.pending.Add(-1)
	}
	p.test.end(ctx)
	defer p.units.tidy(ctx, true)
	p.claimer.release(ctx, unposted)
}
