package sender

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// Ledger is what the sender needs of the ledger.
type Ledger interface {
	campaign.RunLedger
	campaign.SendLedger
	campaign.HoldLedger
	campaign.JobLedger
	reception.ListenLedger
}

// Sender posts one message. Its error is always a *messaging.Error.
type Sender interface {
	Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error)
}

// warmer is a Sender that can make a connection before there is a message.
type warmer interface {
	// Warm makes a connection if there is none.
	Warm(ctx context.Context) error
}

// How often each process reads the ledger although nothing has happened. Every replica reads that
// often, however little it sends. An intent that is not granted, or Poke, tells of a change sooner.
const (
	// lookEvery is how many ticks pass between two readings of the runs, and between two steps of a
	// number that has enough to do.
	lookEvery = 4
	// readApart is the time between two readings of the runs that a poke can cause. Short segments end
	// 50 times a second, and each may be the last of its run.
	readApart = 100 * time.Millisecond
	// finishEvery is how often ended runs are looked for. The end of a run's last segment pokes.
	finishEvery = 5 * time.Second
	// reportEvery is how often the ledger is told what limits each lane.
	reportEvery = 2 * time.Second
)

// Engine sends for every active run of a ledger. Make it with New; Run it once.
type Engine struct {
	o       Options
	ledger  Ledger
	sender  Sender
	limiter throttle.Limiter
	rec     *recorder
	holds   *holds
	zones   *zones
	cancel  *canceller
	poke    signal
	times   requestTimes
	meet    atomic.Pointer[meetings]

	listening *listening

	unsendable map[campaign.RunNo]string // why this version cannot send a run; of the goroutine of Run

	otherLanes atomic.Pointer[[]campaign.LaneReport] // lanes of other replicas that want slots of a number
	begun      atomic.Pointer[freeSegments]          // of the last second
	free       freeReader

	mu      sync.Mutex
	workers map[string]*worker
	runs    map[campaign.RunNo]*run // that are active
}

// New makes an engine, which starts nothing before Run. The error names the option that is missing.
func New(l Ledger, s Sender, lim throttle.Limiter, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		o: o, ledger: l, sender: s, limiter: lim, rec: newRecorder(l, o), zones: newZones(o.Log), cancel: newCanceller(l, o),
		unsendable: map[campaign.RunNo]string{}, poke: newSignal(), workers: map[string]*worker{}, runs: map[campaign.RunNo]*run{},
	}
	e.holds, e.listening = newHolds(l, o, e.holdsChanged), newListening(l, o)
	e.meet.Store(&meetings{})
	e.otherLanes.Store(&[]campaign.LaneReport{})
	e.begun.Store(&freeSegments{})
	return e, nil
}

// warm makes a connection to the service if there is none. Making one may take longer than a slot
// may be old, and a slow number would lose slot after slot to it. An error is not told: the next
// post meets it too.
func (e *Engine) warm(ctx context.Context) {
	if w, ok := e.sender.(warmer); ok {
		_ = w.Warm(ctx)
	}
}

// holdsChanged tells every worker that a hold began or ended.
func (e *Engine) holdsChanged() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		w.holdsChanged()
	}
}

// origin is all that a hold can name of the messages of a run over a connection. If r is nil, it is
// what all messages of the connection have in common.
func (e *Engine) origin(connection string, r *run) campaign.Origin {
	o := e.o.Origin(connection)
	o.Connection = connection
	if r != nil {
		o.Template, o.Language, o.Run = r.template, r.language, r.id
	}
	return o
}

// heldBy returns the hold that stops the messages of a run over a connection; false: none does. If
// r is nil, it returns the hold that stops the messages of all runs.
func (e *Engine) heldBy(connection string, r *run, now time.Time) (campaign.Hold, bool) {
	if e.holds.none() {
		return campaign.Hold{}, false // asked for each message; the origin takes locks
	}
	return e.holds.by(e.origin(connection, r), now)
}

// Poke makes the engine read the runs now. Call it after a run was launched, paused, resumed or
// cancelled. It does not block, and is safe for concurrent use.
func (e *Engine) Poke() { e.poke.send() }

// Run sends the active runs until ctx ends. Then it makes no new intent, awaits the posts in flight
// (at most Options.Request), records their results and hands the segments back. stopBudget after
// the end of ctx it gives up the results that the ledger has not taken; the next owner writes them
// as doubts. Run blocks, and its error is always nil: what fails is logged and tried again.
func (e *Engine) Run(ctx context.Context) error {
	var workers, rec, watches sync.WaitGroup
	rec.Go(func() { e.rec.run() })
	watches.Go(func() { e.watchBegun(ctx) })
	defer context.AfterFunc(ctx, func() { e.rec.end(stopBudget) })()
	defer func() {
		workers.Wait() // the writer of results outlives the senders
		watches.Wait()
		e.holds.flush(e.rec.facts)
		e.rec.stop()
		rec.Wait()
		e.rec.giveUp()
		e.stopped(ctx)
	}()

	start := func(w *worker) { workers.Go(func() { w.run(ctx) }) }
	report, failing := time.Now(), false
	var finish time.Time // when ended runs are looked for
	holdsKnown := false  // before that nothing is sent
	for {
		var err error
		if !holdsKnown {
			err = e.holds.refresh(ctx)
			if holdsKnown = err == nil; holdsKnown {
				watches.Go(func() { e.holds.run(ctx, e.rec.facts) })
			}
		}
		if holdsKnown {
			err = e.refresh(ctx, start)
		}
		if err == nil && !time.Now().Before(finish) {
			if err = e.finish(ctx); err == nil {
				finish = time.Now().Add(finishEvery)
			}
		}
		if fails := err != nil && !errors.Is(err, campaign.ErrUnwritable); ctx.Err() == nil && fails != failing {
			if failing = fails; failing {
				e.o.Log.Error("ledger cannot be read: trying again until it can", "err", err)
			} else {
				e.o.Log.Info("ledger can be read again")
			}
		}
		if time.Since(report) >= reportEvery {
			report = time.Now()
			e.report(ctx)
		}
		read := time.Now()
		t := time.NewTimer(e.o.Jitter("tick", lookEvery*e.o.Tick))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-e.poke:
			sleep(ctx, readApart-time.Since(read))
			e.debounce(ctx, "engine", e.poke)
			finish = time.Time{}
		case <-t.C:
		}
		t.Stop()
	}
}

// debounce is called after a poke. With the default Options.Jitter it does nothing. In a simulation
// Jitter makes it wait for the other pokes of the same instant, so that a simulation repeats; the
// engine then acts on all of them once.
func (e *Engine) debounce(ctx context.Context, whose string, poke signal) {
	d := e.o.Jitter(whose+" poked", 0)
	if d <= 0 {
		return
	}
	sleep(ctx, d)
	select {
	case <-poke:
	default:
	}
}

// refresh reads the runs and changes their states. It compiles runs that are new, starts workers
// that are missing, and tells each planner the active runs.
func (e *Engine) refresh(ctx context.Context, start func(*worker)) error {
	stored, err := e.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	var active []*run
	var cancelled []campaign.Run
	for i := len(stored) - 1; i >= 0; i-- { // oldest first
		s := stored[i]
		if e.o.Only != 0 && s.No != e.o.Only {
			continue
		}
		if s.Wanted == campaign.WantCancel {
			cancelled = append(cancelled, s)
			continue
		}
		if s.State == campaign.Importing {
			continue
		}
		if err := e.obeyPause(ctx, &s); err != nil {
			return err
		}
		if !s.State.Sends() {
			continue
		}
		if r, ok := e.prepared(ctx, s); ok {
			if err := e.readAssets(ctx, r, s); err != nil {
				return err
			}
			if err := e.setTerms(ctx, r, s, time.Now()); err != nil {
				return err
			}
			active = append(active, r)
		}
	}
	if err := e.readOtherLanes(ctx, active); err != nil {
		return err
	}
	e.meet.Store(meetingsOf(stored, active))
	e.mu.Lock()
	for _, s := range cancelled { // also in the segments that this process still owns
		if r := e.runs[s.No]; r != nil {
			r.skipRest(campaign.RunCancelled)
		}
	}
	maps.DeleteFunc(e.runs, func(_ campaign.RunNo, r *run) bool { return !slices.Contains(active, r) })
	var fresh []*worker
	for _, r := range active {
		for _, c := range r.connections {
			if e.workers[c] == nil {
				e.workers[c] = newWorker(e, c)
				fresh = append(fresh, e.workers[c])
			}
		}
	}
	for _, w := range e.workers {
		w.planner.setRuns(active)
	}
	e.mu.Unlock()
	for _, w := range fresh {
		start(w)
	}
	return e.skipCancelled(ctx, cancelled)
}

// finish ends the runs that have nothing left to do.
func (e *Engine) finish(ctx context.Context) error {
	ended, err := e.ledger.FinishRuns(ctx)
	if err != nil {
		return fmt.Errorf("finish runs: %w", err)
	}
	for _, r := range ended {
		e.o.Ended(ctx, r)
	}
	return nil
}

// obeyPause pauses a run that its operator wants paused.
func (e *Engine) obeyPause(ctx context.Context, s *campaign.Run) error {
	if s.Wanted != campaign.WantPause || s.State == campaign.Paused {
		return nil
	}
	paused, err := e.setPaused(ctx, s.No, campaign.PausedByOperator, "paused by the operator")
	if err != nil {
		return fmt.Errorf("pause %s: %w", s.ID(), err)
	}
	if paused {
		s.State = campaign.Paused
		e.o.Log.Info("run paused", "run", s.ID(), "reason", campaign.PausedByOperator)
	}
	return nil
}

// setPaused pauses a run that is ready or running. It reports false if the run is in another state.
func (e *Engine) setPaused(ctx context.Context, no campaign.RunNo, reason campaign.PauseReason, detail string) (bool, error) {
	return e.ledger.SetState(ctx, no, []campaign.State{campaign.Ready, campaign.Running}, campaign.Paused, reason, detail)
}

// pause pauses a run because its payload is refused again and again. It stops the run in this
// process at once, and writes the state, so that the ledger grants no further intent. The refusal
// is a fact, so the state is written for as long as results are, also after the engine was asked to
// stop.
func (e *Engine) pause(r *run, detail string) {
	if !r.paused.CompareAndSwap(false, true) {
		return
	}
	defer e.Poke()
	paused, err := e.setPaused(e.rec.facts, r.no, campaign.PausedByBreaker, detail)
	if err != nil {
		r.paused.Store(false) // the next refusal tries again
		e.o.Log.Error("run cannot be paused", "run", r.id, "err", err)
		return
	}
	if paused {
		e.o.Log.Warn("run paused", "run", r.id, "reason", campaign.PausedByBreaker, "detail", detail)
	}
}
