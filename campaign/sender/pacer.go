package sender

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// pacer sends over one connection: its planner turns segments into shots, its
// poster gives each shot the next slot, its renewer keeps the leases.
type pacer struct {
	e          *Engine
	connection string
	queue      *queue
	poke       chan struct{} // wakes the planner
	low        atomic.Int64  // shots in the queue at which the planner is woken
	slow       atomic.Int64  // nanoseconds that the ledger has needed for intents lately, and a margin
	posts      sync.WaitGroup
	inFlight   chan struct{}
	latency    latency
	counts     counts

	mu     sync.Mutex
	runs   []*run
	cubic  *throttle.Cubic
	downs  int                        // consecutive holds because the service could not be reached
	doubt  breaker                    // most answers prove nothing: the service is broken
	noSlot refused                    // the limiter cannot be asked
	until  time.Time                  // the whole number is held until then
	why    binding                    // by this
	bound  map[campaign.RunNo]binding // what bound each lane at the planner's last step
	busy   map[campaign.RunNo]bool    // whether it then had something to send in the lane, now or later
	idleAt time.Time                  // since when the poster waits for something else than a slot; zero: it does not
	idle   time.Duration              // how long it did since the adaptive rate was fed

	// owned by the planner
	segments  []*segment
	claimedAt time.Time          // when there was nothing to claim
	begunAt   time.Time          // when the pacer last looked for what others have begun
	heard     bool               // the ledger answered in this step
	turn      int                // round robin over runs
	own       float64            // messages per second posted lately
	ownAt     time.Time          // when that was measured
	ownPosts  int64              // counts.posted then
	capUntil  map[*run]time.Time // when a capped run's next slot may be asked for
	binding   map[campaign.RunNo]binding
	segShared atomic.Pointer[[]*segment] // for the renewer
}

func newPacer(e *Engine, connection string) *pacer {
	return &pacer{
		e: e, connection: connection, queue: newQueue(), poke: make(chan struct{}, 1),
		inFlight: make(chan struct{}, e.o.MaxInFlight), cubic: throttle.NewCubic(e.o.Pace(connection)),
		capUntil: map[*run]time.Time{}, binding: map[campaign.RunNo]binding{},
	}
}

// setRuns tells the pacer which runs are active; it keeps those it can serve.
func (p *pacer) setRuns(active []*run) {
	var mine []*run
	for _, r := range active {
		for _, c := range r.connections {
			if c == p.connection {
				mine = append(mine, r)
				break
			}
		}
	}
	p.mu.Lock()
	p.runs = mine
	p.mu.Unlock()
	p.wake()
}

func (p *pacer) activeRuns() []*run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

func (p *pacer) wake() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// pace is the rate now, in messages per second: the configured pace, lowered while
// the service throttles.
func (p *pacer) pace() float64 {
	ceiling := p.e.o.Pace(p.connection)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cubic.SetCeiling(ceiling)
	return p.cubic.Rate()
}

// feed tells the adaptive rate how the service took the load, and how long nothing was to be sent.
func (p *pacer) feed(now time.Time, accepted, throttled int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleIdle(now)
	p.cubic.Observe(now, accepted, throttled, p.idle)
	p.idle = 0
}

// rest notes that the poster could not use a slot if it had one: nothing is to be sent, or may be. work, that it can.
func (p *pacer) rest(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idleAt.IsZero() {
		p.idleAt = now
	}
}

func (p *pacer) work(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleIdle(now)
	p.idleAt = time.Time{}
}

// settleIdle counts the time up to now, if the poster rests. The caller holds the lock.
func (p *pacer) settleIdle(now time.Time) {
	if p.idleAt.IsZero() {
		return
	}
	if d := now.Sub(p.idleAt); d > 0 {
		p.idle += d
		p.idleAt = now
	}
}

// jitter changes a wait as the options say; each connection draws its own.
func (p *pacer) jitter(purpose string, d time.Duration) time.Duration {
	return p.e.o.Jitter(p.connection+" "+purpose, d)
}

// group is Group's worth of deliveries at a rate: clamp(rate x Group, 1, GroupMax). Two are outstanding at most. While
// the ledger takes longer than that for a commit, a group covers its time: else the poster would run out of shots.
func (p *pacer) group(rate float64) int {
	cover := max(p.e.o.Group, time.Duration(p.slow.Load()))
	return int(min(max(math.Ceil(rate*cover.Seconds()), 1), float64(p.e.o.GroupMax)))
}

// mostCover bounds what a slow ledger adds to a group: two of them are in doubt after a death.
const mostCover = 250 * time.Millisecond

// took notes how long the ledger needed for a commit of intents. A slow one counts at once, and double, because the next
// may begin late; then a tenth less with each that is quicker.
func (p *pacer) took(d time.Duration) {
	p.slow.Store(int64(min(max(2*d, time.Duration(p.slow.Load())*9/10), mostCover)))
}

// hold stops the whole number until then.
func (p *pacer) hold(until time.Time, why binding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.until) {
		p.until, p.why = until, why
	}
}

// unreached notes that no connection could be made: the number waits 0.5 s, then
// twice as long each time, at most 30 s, so that an outage does not burn through the list.
func (p *pacer) unreached(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.After(now) {
		return
	}
	p.until, p.why = now.Add(min(500*time.Millisecond<<min(p.downs, 6), 30*time.Second)), binding{"unreachable", "the service cannot be reached"}
	p.downs++
}

// reached notes that the service answered.
func (p *pacer) reached() {
	p.mu.Lock()
	p.downs = 0
	p.mu.Unlock()
}

// refused is why the limiter gave no slot, and when.
type refused struct {
	at  time.Time
	why string
}

// refusedFor is how long a refusal of the limiter binds: it is asked every 100 ms while something is to be sent.
const refusedFor = time.Second

// unasked notes that the limiter could not be asked; answered, that it could.
func (p *pacer) unasked(now time.Time, err error) {
	p.counts.noSlot.Add(1)
	p.mu.Lock()
	p.noSlot = refused{now, "no send instant can be had, so nothing is sent: " + err.Error()}
	p.mu.Unlock()
}

func (p *pacer) answered() {
	p.mu.Lock()
	p.noSlot = refused{}
	p.mu.Unlock()
}

func (p *pacer) heldFor(now time.Time) (time.Duration, binding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until.Sub(now), p.why
}

// run plans, posts and renews until ctx ends; then it waits for the posts in
// flight and hands its segments back with what was not posted.
func (p *pacer) run(ctx context.Context) {
	var owned sync.WaitGroup
	owned.Go(func() { p.plan(ctx) })
	owned.Go(func() { p.post(ctx) })
	owned.Go(func() { p.renew(ctx) })
	owned.Wait()
	p.posts.Wait()

	unposted := map[*segment][]int64{}
	for _, s := range p.queue.remove(func(*shot) bool { return true }) {
		unposted[s.seg] = append(unposted[s.seg], s.delivery.Seq)
		s.seg.pending.Add(-1)
	}
	// The engine's context has ended; handing back is what the next owner waits for.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBudget)
	defer cancel()
	for _, s := range p.segments {
		for s.pending.Load() > 0 && end.Err() == nil { // its last results are with the recorder
			select {
			case <-p.poke:
			case <-end.Done():
			}
		}
		if s.lost.Load() {
			continue
		}
		if err := p.e.ledger.Release(end, s.lease, unposted[s]); err != nil {
			p.e.o.Log.Warn("segment not handed back: its lease must run out", "connection", p.connection, "err", err)
		}
	}
}

// renew keeps the leases alive. A lease that could not be renewed is lost when
// another epoch has begun; when the ledger cannot be reached it just runs out.
func (p *pacer) renew(ctx context.Context) {
	said := ""
	for {
		t := time.NewTimer(p.jitter("renew", p.e.o.Lease/3))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		shared := p.segShared.Load()
		if shared == nil || len(*shared) == 0 {
			continue
		}
		var live []*segment
		var leases []campaign.Lease
		for _, s := range *shared {
			if !s.lost.Load() {
				live, leases = append(live, s), append(leases, s.claimed)
			}
		}
		kept, err := p.e.ledger.Renew(ctx, leases, p.e.o.Lease)
		if err != nil {
			if why := cause(err); ctx.Err() == nil && why != said { // once, not at each try
				said = why
				p.e.o.Log.Error("leases cannot be renewed: they run out unless they can be soon", "connection", p.connection, "err", err)
			}
			continue
		}
		if said != "" {
			said = ""
			p.e.o.Log.Info("leases are renewed again", "connection", p.connection)
		}
		type key struct {
			run          campaign.RunNo
			index, epoch int64
		}
		until := make(map[key]time.Time, len(kept))
		for _, l := range kept {
			until[key{l.Run, l.Index, l.Epoch}] = l.Until
		}
		for _, s := range live {
			if at, ok := until[key{s.claimed.Run, s.claimed.Index, s.claimed.Epoch}]; ok {
				s.until.Store(at.UnixNano())
			} else {
				s.lost.Store(true)
			}
		}
		p.wake()
	}
}
