package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// Ledger is what sending needs of the durable record.
type Ledger interface {
	campaign.RunLedger
	campaign.SendLedger
}

// Sender posts one message. Its error is always a *messaging.Error.
type Sender interface {
	Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error)
}

// Options tune an Engine. The zero value of each field means its default.
type Options struct {
	Owner       string         // names this process in leases; default: required
	Only        campaign.RunNo // serve this run alone; 0: every run
	Lease       time.Duration  // of a segment; default 15s: request 10s + results 2s + margin
	Group       time.Duration  // work in one intent; default 50ms (reliability.md 0.5)
	GroupMax    int            // deliveries in one intent; default 256
	Flush       time.Duration  // results wait this long for company, a few of them up to four times that; default 20ms
	FlushMax    int            // results in one transaction; default 256
	Tick        time.Duration  // how often a number looks for segments and deferred deliveries, and four times that the runs are read; default 250ms
	Request     time.Duration  // longest POST; default 10s
	MaxInFlight int            // posts at once per connection; default 512
	Backoff     time.Duration  // first wait after a refusal that may be retried; default 5s
	// Pace is the rate of a connection in messages per second; default 72 (80/s STANDARD
	// at f = 0.90, design section 6).
	Pace func(connection string) float64
	// Jitter may change a wait; simulations use it so that no two timers share an
	// instant (reliability.md 4.2). Default: as given.
	Jitter func(purpose string, d time.Duration) time.Duration
	Log    *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Owner == "" {
		return o, errors.New("lane: Options.Owner is required")
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Lease, 15*time.Second)
	def(&o.Group, 50*time.Millisecond)
	def(&o.Flush, 20*time.Millisecond)
	def(&o.Tick, 250*time.Millisecond)
	def(&o.Request, 10*time.Second)
	def(&o.Backoff, 5*time.Second)
	if o.GroupMax <= 0 {
		o.GroupMax = 256
	}
	if o.FlushMax <= 0 {
		o.FlushMax = 256
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 512
	}
	if o.Pace == nil {
		o.Pace = func(string) float64 { return 72 }
	}
	if o.Jitter == nil {
		o.Jitter = func(_ string, d time.Duration) time.Duration { return d }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// lookEvery is how many ticks pass between two readings of the runs. What must be known sooner is told by an intent that is
// not granted, or by Poke; each reading costs every replica, however little it sends.
const lookEvery = 4

// Engine sends for every active run of a ledger. Make it with New; Run it once.
type Engine struct {
	o       Options
	ledger  Ledger
	sender  Sender
	limiter throttle.Limiter
	rec     *recorder
	poke    chan struct{}

	mu     sync.Mutex
	pacers map[string]*pacer
	runs   map[campaign.RunNo]*run
	order  []*run // active runs, oldest first
}

// New checks the options and makes an engine. Nothing starts before Run.
func New(l Ledger, s Sender, lim throttle.Limiter, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Engine{
		o: o, ledger: l, sender: s, limiter: lim, rec: newRecorder(l, o),
		poke: make(chan struct{}, 1), pacers: map[string]*pacer{}, runs: map[campaign.RunNo]*run{},
	}, nil
}

// Poke makes the engine look at the runs now: one was launched, paused, resumed or cancelled.
func (e *Engine) Poke() {
	select {
	case e.poke <- struct{}{}:
	default:
	}
}

// Run serves runs until ctx ends. Then no new intent is made, what is in flight
// is awaited (at most Options.Request) and recorded, and segments are handed back.
func (e *Engine) Run(ctx context.Context) error {
	var pacers, rec sync.WaitGroup
	rec.Go(func() { e.rec.run() })
	defer func() {
		pacers.Wait() // the writer of results outlives the senders
		e.rec.stop()
		rec.Wait()
		e.stopped(ctx)
	}()

	start := func(p *pacer) { pacers.Go(func() { p.run(ctx) }) }
	report, failing := time.Now(), false
	for {
		if err := e.refresh(ctx, start); ctx.Err() == nil && (err != nil) != failing {
			if failing = err != nil; failing {
				e.o.Log.Error("ledger cannot be read: trying again until it can", "err", err)
			} else {
				e.o.Log.Info("ledger can be read again")
			}
		}
		if time.Since(report) >= time.Second {
			report = time.Now()
			e.report(ctx)
		}
		t := time.NewTimer(e.o.Jitter("tick", lookEvery*e.o.Tick))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-e.poke:
			e.calm(ctx, "engine", e.poke)
		case <-t.C:
		}
		t.Stop()
	}
}

// calm follows a poke: where Options.Jitter asks for it, whoever pokes at the same instant
// is waited for and answered once, so that a simulation repeats. By default it does nothing.
func (e *Engine) calm(ctx context.Context, whose string, poke <-chan struct{}) {
	d := e.o.Jitter(whose+" poked", 0)
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	select {
	case <-poke:
	default:
	}
}

// refresh reads the runs, compiles new ones, starts missing pacers, and moves runs
// along their states.
func (e *Engine) refresh(ctx context.Context, start func(*pacer)) error {
	stored, err := e.ledger.Runs(ctx)
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	var active []*run
	for i := len(stored) - 1; i >= 0; i-- { // oldest first
		s := stored[i]
		if e.o.Only != 0 && s.No != e.o.Only || s.State == campaign.Importing {
			continue
		}
		if s.State.Ended() {
			e.forget(s.No)
			continue
		}
		if err := e.settleWanted(ctx, &s); err != nil {
			return err
		}
		if s.State != campaign.Ready && s.State != campaign.Running {
			e.forget(s.No)
			continue
		}
		r, err := e.run(s)
		if err != nil {
			e.o.Log.Error("run cannot be prepared", "run", s.ID(), "err", err)
			if _, err := e.ledger.SetState(ctx, s.No, []campaign.State{campaign.Ready, campaign.Running}, campaign.Paused, campaign.PausedByOperator, err.Error()); err != nil {
				return fmt.Errorf("pause %s: %w", s.ID(), err)
			}
			continue
		}
		active = append(active, r)
	}
	e.mu.Lock()
	e.order = active
	var fresh []*pacer
	for _, r := range active {
		for _, c := range r.connections {
			if e.pacers[c] == nil {
				e.pacers[c] = newPacer(e, c)
				fresh = append(fresh, e.pacers[c])
			}
		}
	}
	for _, p := range e.pacers {
		p.setRuns(active)
	}
	e.mu.Unlock()
	for _, p := range fresh {
		start(p)
	}

	ended, err := e.ledger.FinishRuns(ctx)
	if err != nil {
		return fmt.Errorf("finish runs: %w", err)
	}
	for _, r := range ended {
		e.o.Log.Info("run ended", "run", r.ID(), "state", r.State)
		e.forget(r.No)
	}
	return nil
}

// settleWanted moves a run towards what its operator wants.
func (e *Engine) settleWanted(ctx context.Context, s *campaign.Run) error {
	var err error
	var moved bool
	switch {
	case s.Wanted == campaign.WantPause && s.State != campaign.Paused:
		moved, err = e.ledger.SetState(ctx, s.No, []campaign.State{campaign.Ready, campaign.Running}, campaign.Paused, campaign.PausedByOperator, "paused by the operator")
		if moved {
			s.State = campaign.Paused
			e.o.Log.Info("run paused", "run", s.ID(), "reason", campaign.PausedByOperator)
		}
	case s.Wanted == campaign.WantCancel && s.State != campaign.Running:
		// Its segments must be claimed once more, to be dropped; the intent's transaction
		// refuses every post meanwhile because the run is not wanted.
		moved, err = e.ledger.SetState(ctx, s.No, []campaign.State{campaign.Ready, campaign.Paused, campaign.WaitingApproval}, campaign.Running, "", "")
		if moved {
			s.State = campaign.Running
		}
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", s.ID(), err)
	}
	return nil
}

// run returns the compiled run, compiling it when it is new.
func (e *Engine) run(s campaign.Run) (*run, error) {
	e.mu.Lock()
	r := e.runs[s.No]
	e.mu.Unlock()
	if r == nil {
		var err error
		if r, err = compile(s, e.o); err != nil {
			return nil, err
		}
		e.mu.Lock()
		e.runs[s.No] = r
		e.mu.Unlock()
	}
	r.observe(s)
	return r, nil
}

func (e *Engine) forget(no campaign.RunNo) {
	e.mu.Lock()
	delete(e.runs, no)
	e.mu.Unlock()
}

// pause takes runs out of sending because the service refused more than one
// recipient. It writes the state first, so that no further intent is granted.
func (e *Engine) pause(ctx context.Context, runs []*run, reason campaign.PauseReason, detail string) {
	for _, r := range runs {
		if !r.held.CompareAndSwap(false, true) {
			continue
		}
		moved, err := e.ledger.SetState(ctx, r.no, []campaign.State{campaign.Ready, campaign.Running}, campaign.Paused, reason, detail)
		if err != nil {
			r.held.Store(false) // the next refusal tries again
			e.o.Log.Error("run cannot be paused", "run", r.id, "err", err)
			continue
		}
		if moved {
			e.o.Log.Warn("run paused", "run", r.id, "reason", reason, "detail", detail)
		}
	}
	e.Poke()
}

// activeRuns are the runs of the last refresh that match.
func (e *Engine) activeRuns(match func(*run) bool) []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*run
	for _, r := range e.order {
		if match(r) {
			out = append(out, r)
		}
	}
	return out
}

// report tells the ledger what binds each lane, for `why` in another process.
func (e *Engine) report(ctx context.Context) {
	var all []campaign.LaneReport
	for _, s := range e.Stats() {
		all = append(all, s.Lanes...)
	}
	if err := e.ledger.ReportLanes(ctx, e.o.Owner, all); err != nil && ctx.Err() == nil {
		e.o.Log.Debug("lane report not written", "err", err)
	}
}

// stopped tells the ledger that nobody serves the lanes of this engine any more.
func (e *Engine) stopped(ctx context.Context) {
	var all []campaign.LaneReport
	for _, s := range e.Stats() {
		for _, l := range s.Lanes {
			l.Rate, l.Binding, l.Detail = 0, campaign.LaneStopped, "its sender has ended"
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return
	}
	// The engine's context has ended. 500ms: a stopped process hands over within 2 s.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 500*time.Millisecond)
	defer cancel()
	if err := e.ledger.ReportLanes(ctx, e.o.Owner, all); err != nil {
		e.o.Log.Debug("lane report not written", "err", err)
	}
}

// Stats are the counters of each connection since the start, ordered by connection.
func (e *Engine) Stats() []Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Stats, 0, len(e.pacers))
	for _, p := range e.pacers {
		out = append(out, p.stats())
	}
	sortStats(out)
	return out
}
