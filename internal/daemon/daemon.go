// Package daemon wires one process: ledger, limiter, client, engine, webhook intake and listeners,
// started in one order and stopped in the reverse order.
//
// cmd/campaignd calls it. This package alone connects the others. It promises an ordered
// end: no intent is made any more, the answers to requests in flight are recorded, webhooks are
// answered until the last moment, and every method returns only when its goroutines have ended
// (docs/architecture.md#goroutines).
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/price"
	"campaignd/campaign/sender"
	"campaignd/internal/audience"
	"campaignd/internal/clock"
	"campaignd/internal/commerce"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/notify"
	"campaignd/internal/numbers"
	"campaignd/internal/operator"
	"campaignd/internal/sandbox"
	"campaignd/internal/schedule"
	"campaignd/internal/tracing"
	"campaignd/internal/webhooks"
	"campaignd/internal/wirelog"
)

// Daemon is one process of campaignd. Make it with New, end it with Close.
type Daemon struct {
	cfg     *config.Config
	makeAPI func(context.Context, operator.Process) (API, error) // nil: no operator's API
	// makeConsole is nil without a console.
	makeConsole func(context.Context, operator.Process) (http.Handler, error)
	log         *slog.Logger
	ledger      campaign.Ledger
	clock       *clock.Reference // by which what is over is deleted and expires
	client      *connector.Set
	asked       *recent // the client, for checks over the API; nil without one
	limiter     limiter
	directory   *numbers.Directory
	quotas      *numbers.Quotas
	rates       *price.Rates // nil without prices
	holds       *holdWatch   // nil before Serve
	notifier    *notify.Sender
	changed     chan struct{}                  // an event tells that a number has changed
	intake      *webhooks.Intake               // nil without secrets, because no event could be verified
	appSecrets  map[string]config.CloudSecrets // by account, as the intake was given them last
	verifier    *messaging.Verifier            // of the intake
	commerce    *commerce.Intake               // nil if no events of the commerce platform are taken
	public      *listener                      // nil without intake
	refused     chan time.Time                 // since when a replay is due of events that were refused
	admin       *listener                      // nil before Serve
	owner       string                         // names this process in leases
	audiences   *audience.Lists
	schedule    *schedule.Scheduler // nil in an intake without a key
	wire        *wirelog.Log        // nil without a folder for it
	unstated    []wirelog.Dead      // the logs of dead processes whose statements the ledger has not taken yet
	closers     []func() error      // in the order of opening; Close calls them in reverse
}

// OpenLedger opens the configured ledger. sender takes the lock that one sending process of an
// SQLite ledger may have; campaign.ErrLocked means that another process has it.
func OpenLedger(ctx context.Context, cfg *config.Config, sender bool, log *slog.Logger) (campaign.Ledger, error) {
	return openLedger(ctx, cfg, sender, log, numbers.NewDirectory(cfg))
}

// openLedger opens the ledger with a directory. When a failed status begins a hold, the ledger asks
// the directory for the id that the hold names.
func openLedger(ctx context.Context, cfg *config.Config, sender bool, log *slog.Logger, of *numbers.Directory) (campaign.Ledger, error) {
	return backend.Open(ctx, cfg.Ledger, ledger.Options{Sender: sender, Log: log, Origin: of.Origin, Platform: of.Platform,
		PerCompany: cfg.Suppressions.Scope == config.PerCompany, Notify: cfg.Notified(), Address: cfg.LedgerNow(),
		Connections: cfg.LedgerConnections})
}

// New opens a daemon as Open does. It also binds the public listener, unless there is no secret to
// verify webhooks with or the role is sender.
func New(ctx context.Context, cfg *config.Config, o Options) (*Daemon, error) {
	d, err := Open(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	if cfg.Receives() && cfg.Role != config.RoleSender {
		if err := cfg.CanReceive(); err != nil {
			d.log.Warn("statuses and opt-outs over the service are not seen", "err", err)
		}
		if err := d.openIntake(ctx); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// open is Open without the wait.
func open(ctx context.Context, cfg *config.Config, o Options) (_ *Daemon, err error) {
	d := &Daemon{cfg: cfg, makeAPI: o.API, makeConsole: o.Console, log: o.Log, owner: ownerName(), directory: numbers.NewDirectory(cfg),
		changed: make(chan struct{}, 1), refused: make(chan time.Time, 1)}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	stop, err := tracing.Start(ctx, d.log)
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, stop)
	if d.ledger, err = openLedger(ctx, cfg, cfg.Role != config.RoleIntake, d.log, d.directory); err != nil {
		return nil, err
	}
	d.closers = append(d.closers, d.ledger.Close)
	d.clock = clock.New(clock.Options{Ledger: d.ledger, Shared: cfg.SharedLedger(), Service: d.serviceClock(), Log: d.log})
	if l, ok := d.ledger.(*sqlite.Ledger); ok {
		l.Trust(func() bool { _, known := d.clock.Now(); return known })
	}
	if err := d.openAudiences(ctx); err != nil {
		return nil, err
	}
	// Without a destination the notifier only tidies.
	if d.notifier, err = notify.New(notify.Options{Ledger: d.ledger, Destinations: cfg.Destinations(),
		Expiry: d.clock.Now, Log: d.log}); err != nil {
		return nil, err
	}
	d.quotas = numbers.NewQuotas(cfg, d.directory, d.ledger, d.log)
	if d.rates, err = cfg.Rates(); err != nil {
		return nil, err
	}
	if err := d.openLimiter(ctx); err != nil {
		return nil, err
	}
	d.client, err = config.NewConnectors(cfg)
	if cfg.Role == config.RoleIntake && errors.Is(err, connector.ErrNone) {
		return d, nil // an intake without a key asks the service for nothing
	}
	if err != nil {
		return nil, err
	}
	d.quotas.BilledBy(d.client)
	if err := d.shareListings(ctx); err != nil {
		return nil, err
	}
	d.schedule = d.newScheduler()
	if cfg.Role == config.RoleIntake {
		return d, nil
	}
	if d.client.Cloud != nil {
		d.liftTokenHolds("the start of a process", func(string) bool { return true })
	}
	return d, d.openWire(ctx)
}

// openIntake makes the webhook intake and binds the public listener.
func (d *Daemon) openIntake(ctx context.Context) error {
	for i, s := range d.cfg.Webhooks.Secrets {
		if n := d.cfg.Webhooks.Form().SecretBytes(s); n < messaging.ShortSecret && s.Reveal() != sandbox.DemoSecret {
			d.log.Warn("a signing secret is short; whoever guesses it can forge events", "key", fmt.Sprintf("webhooks.secrets[%d]", i),
				"bytes", n, "want", messaging.ShortSecret)
		}
	}
	var err error
	if len(d.cfg.Webhooks.Secrets) > 0 {
		if d.verifier, err = messaging.NewVerifier(d.cfg.Webhooks.Form(), d.cfg.Webhooks.Secrets...); err != nil {
			return err
		}
	}
	platforms, err := d.platforms()
	if err != nil {
		return err
	}
	sweep := &turn{job: d.job("sweep")}
	d.closers = append(d.closers, sweep.end)
	if d.intake, err = webhooks.New(d.ledger, d.verifier, webhooks.Options{
		Ledger: d.ledger.LedgerID(), Platforms: platforms, Mark: d.ledger.Marks().Read, Foreign: d.directory.Foreign,
		Connections: d.directory.ConnectionOf, Origin: d.directory.Origin,
		Peers: d.directory.Peers, Runs: d.ledger, Tiered: d.directory.Tiered, Heard: d.heard,
		PerCompany: d.cfg.Suppressions.Scope == config.PerCompany, OptOut: d.cfg.OptOut(),
		Sweep: time.Duration(d.cfg.Webhooks.Sweep), SweepTurn: sweep.ours, Seed: jitterSeed(d.owner), Log: d.log,
		OnChange: d.numberChanged, Replay: d.oweReplay, Expiry: d.clock.Now, Apart: d.clock.Apart,
	}); err != nil {
		return err
	}
	routes := append(d.openCommerce(), publicRoute{d.cfg.Webhooks.Path, d.intake})
	if d.public, err = bind(ctx, "listen.public", d.cfg.Listen.Public, public(routes...)); err != nil {
		return err
	}
	return d.public.secure(d.cfg.Listen.PublicTLS, d.log)
}

// PublicURL returns the address at which webhooks are taken, and "" when none are taken.
func (d *Daemon) PublicURL() string {
	if d.public == nil {
		return ""
	}
	return d.public.url() + d.cfg.Webhooks.Path
}

// Close closes the listeners, and then what New opened in reverse order. A second call does
// nothing.
func (d *Daemon) Close() error {
	var errs []error
	for _, l := range []*listener{d.public, d.admin} {
		if l != nil {
			errs = append(errs, unlessClosed(l.ln.Close()))
		}
	}
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i]())
	}
	d.closers = nil
	return errors.Join(errs...)
}

// engine makes the sending engine for the run only, or for every run when only is 0.
func (d *Daemon) engine(only campaign.RunNo) (*sender.Engine, error) {
	ended := d.ended
	if only != 0 {
		ended = nil // the command reports the end of its run
	}
	var wire sender.Wire
	if d.wire != nil {
		wire = d.wire
	}
	o := sender.Options{
		Wire:  wire,
		Owner: d.owner, Only: only, Ended: ended,
		Lease: time.Duration(d.cfg.Sending.Lease), Group: time.Duration(d.cfg.Sending.Group),
		Flush: time.Duration(d.cfg.Sending.Flush), Tick: time.Duration(d.cfg.Sending.Tick), Request: time.Duration(d.cfg.Service.Timeout),
		MaxInFlight: d.cfg.Sending.InFlight, Backoff: time.Duration(d.cfg.Sending.Backoff), Repeats: d.cfg.Sending.Waits(),
		Pace: d.directory.Pace, Limit: d.directory.Limit, Origin: d.directory.Sending, Tier: d.directory.Tier, Log: d.log,
		PlanEnds: d.quotas.PlanEnds, Expiry: d.clock.Now,
		Held: func(ctx context.Context, all []campaign.Hold) {
			d.quotas.SeeHolds(all)
			if d.holds != nil {
				d.holds.see(ctx, all)
			}
		},
	}
	if d.quotas.Any() {
		o.Quotas, o.Counter, o.Spent = d.quotas.ForConnection, d.limiter, d.quotas.Count
	}
	if d.cfg.Cloud.Configured() {
		o.Mark = d.ledger.Marks().Make
	}
	return sender.New(d.ledger, d.client, d.limiter, o)
}

// webhooksUntil is how long after ctx the listener goes on while the engine still writes results.
// 20s + 5s for requests that wait for a commit + 5s for the intake's writer = 30s.
const webhooksUntil = 20 * time.Second

// send runs the engine e, if it is not nil, with the intake and the public listener until ctx ends.
// The engine ends first: it makes no new intents and records what is in flight. Then the listener
// ends: it answers the requests that wait for a commit. The intake ends after the listener. An
// engine that has not ended after webhooksUntil, because its ledger is slow, ends beside them.
func (d *Daemon) send(ctx context.Context, e *sender.Engine) error {
	outer, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, 4) // one for each call of start
	intake, stopIntake := context.WithCancel(outer)
	defer stopIntake()
	failed, fail := context.WithCancel(ctx)
	defer fail()
	start := func(ctx context.Context, run func(context.Context) error) (ended chan struct{}) {
		ended = make(chan struct{})
		wg.Go(func() {
			defer close(ended)
			if err := run(ctx); err != nil {
				errs <- err
				fail()
			}
		})
		return ended
	}
	d.clock.Look(ctx)
	wg.Go(func() { d.clock.Run(intake) })
	wg.Go(func() { d.notifier.Run(failed) })
	wg.Go(func() { d.summarize(failed) })
	if l, ok := d.ledger.(keeper); ok {
		wg.Go(func() { l.Keep(intake) })
	}
	listen, stopListen := context.WithCancel(outer)
	defer stopListen()
	listening := make(chan struct{})
	if d.intake == nil {
		close(listening)
	} else {
		if since, due := d.outage(ctx, time.Now()); due {
			wg.Go(func() { d.askReplay(failed, since, outageCause) })
		}
		wg.Go(func() { d.replayRefused(failed) })
		wg.Go(func() { d.tellHeard(intake) })
		start(intake, d.intake.Run)
		listening = start(listen, func(ctx context.Context) error { return d.public.serve(ctx, 5*time.Second) })
	}
	sender := func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}
	if e != nil {
		sender = func(ctx context.Context) error { return d.alone(ctx, e.Run) }
		start(failed, d.restate)
		wg.Go(func() { d.quotas.Run(failed) })
		wg.Go(func() { d.quotas.Bill(failed) })
	}
	ended := start(failed, sender)
	select {
	case <-ended:
	case <-failed.Done():
		select {
		case <-ended:
		case <-time.After(webhooksUntil):
		}
	}
	stopListen()
	<-listening
	stopIntake()
	wg.Wait()
	d.attributeRest(ctx)
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// closing closes a ledger, or what has one open, behind work that has its answer. An error is
// logged: it says nothing of the work.
func closing(c io.Closer, log *slog.Logger) {
	if err := c.Close(); err != nil && log != nil {
		log.Warn("the ledger was not closed in order", "err", err)
	}
}

// unlessClosed returns err, and nil for a listener that was already closed.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// serviceClock returns the time by the service's clock. A process that uses the listings of another
// one may get no answer for a long time, and without one nothing expires and no run with a doubt
// ends: half a minute after its start it asks once a minute until it has one.
func (d *Daemon) serviceClock() func() (time.Time, bool) {
	const wait, answers = time.Minute, 10 * time.Second
	asked := time.Now().Add(-wait / 2)
	return func() (time.Time, bool) {
		if d.client == nil {
			return time.Time{}, false
		}
		at, known := d.client.Clock()
		if known || time.Since(asked) < wait {
			return at, known
		}
		asked = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), answers)
		defer cancel()
		if _, err := d.client.Connections(ctx); err != nil {
			d.log.Debug("the service's clock is not known", "err", err)
		}
		return d.client.Clock()
	}
}
