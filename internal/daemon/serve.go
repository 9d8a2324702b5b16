package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/config"
	"campaignd/internal/drops"
	"campaignd/internal/faults"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/schedule"
	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// Serve does the work of the configured role until ctx ends: it sends every run of the ledger and
// fires scheduled campaigns, takes webhooks, or both. It also serves the admin listener. started,
// if not nil, gets the URLs of both listeners before anything is sent.
func (d *Daemon) Serve(ctx context.Context, started func(public, admin string)) (err error) {
	if !d.cfg.SharedLedger() {
		defer debug.SetGCPercent(debug.SetGCPercent(frugal))
	}
	d.holds = newHoldWatch(d)
	var engine *sender.Engine
	var dropped *drops.Watcher // nil where no folder is watched
	if d.cfg.Role != config.RoleIntake {
		if engine, err = d.engine(0); err != nil {
			return err
		}
		if dropped, err = d.watcher(engine); err != nil {
			return err
		}
	}
	operators, console, access, err := d.operatorsAPI(ctx, engine)
	if err != nil {
		return err
	}
	inside := admin(d.metrics(engine), operators, console, d.ready)
	if d.cfg.Listen.AdminTLS == (config.TLS{}) { // a certificate proves the name, too
		inside = guardHost(inside, d.cfg.Listen.AdminHosts)
	}
	if d.admin, err = bind(ctx, "listen.admin", d.cfg.Listen.Admin, inside); err != nil {
		return err
	}
	if err := d.admin.secure(d.cfg.Listen.AdminTLS, d.log); err != nil {
		return err
	}
	if access.Key != "" {
		access.URL, access.Pin = d.admin.url(), d.admin.certificate.pin()
		if c := d.admin.certificate; c != nil {
			c.renewed = func() {
				access.Pin = c.pin()
				if err := access.Write(d.cfg.AccessFile()); err != nil {
					d.log.Warn("`campaignd launch` cannot reach this process until it starts again", "err", err)
				}
			}
		}
		if err := access.Write(d.cfg.AccessFile()); err != nil {
			return err
		}
		defer func() { _ = os.Remove(d.cfg.AccessFile()) }() // a file that stays is one that nobody answers
	}
	if d.intake == nil && d.cfg.Role != config.RoleSender {
		d.log.Warn("no webhooks are taken: webhooks.secrets is empty, so no event could be verified; statuses and opt-outs are not seen")
	}
	if started != nil {
		started(d.PublicURL(), d.admin.url())
	}
	d.takeOver(ctx)
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, 2)
	wg.Go(func() { errs <- d.admin.serve(inner, 2*time.Second) })
	if engine == nil {
		wg.Go(func() { d.holds.run(inner) })
	}
	if operators != nil {
		wg.Go(func() { operators.Run(inner) })
	}
	if d.client != nil {
		wg.Go(func() { d.refreshNumbers(inner, 0) })
	}
	wg.Go(func() { d.watchSecrets(inner) })

	scheduling, halt := context.WithCancel(ctx)
	var launches sync.WaitGroup
	if engine != nil {
		if dropped != nil {
			launches.Go(func() { dropped.Run(scheduling) })
		}
		launches.Go(func() { d.schedule.Run(scheduling, engine, schedule.Every) })
		launches.Go(func() { d.schedule.KeepPolicies(scheduling, engine, 0) })
		launches.Go(func() { d.watchSilence(scheduling, engine) })
		launches.Go(func() { d.retain(scheduling) })
		launches.Go(func() { d.keepOrders(scheduling) })
	}
	err = d.send(ctx, engine)
	halt()
	launches.Wait()
	stop()
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	if err == nil {
		d.log.Info("stopped")
	}
	return err
}

// keeper is a ledger in files, which may be removed or replaced while they are open.
type keeper interface {
	// Keep looks at the files until ctx ends.
	Keep(ctx context.Context)
	// Look returns campaign.ErrUnwritable when they are gone.
	Look() error
}

var _ keeper = (*sqlite.Ledger)(nil)

// ready returns an error when the ledger or the limiter does not answer, when the ledger's file is
// gone, or when the ledger went back in time and is not quarantined yet. Without the limiter, or
// before the quarantine, nothing is sent, but webhooks are still taken: a process that takes them
// stays ready, with a note. So does one whose clock is wrong.
func (d *Daemon) ready() (note string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// First, because a query that opens another connection to a file that is gone names no cause.
	if l, ok := d.ledger.(keeper); ok {
		if err := l.Look(); err != nil {
			return "", err
		}
	}
	if _, err := d.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true, Limit: 1}); err != nil {
		return "", err
	}
	note = d.clock.Fault()
	if d.cfg.Role == config.RoleIntake {
		return note, nil
	}
	if l, ok := d.ledger.(restorable); ok {
		err = l.Restored(ctx)
	}
	if r, ok := d.limiter.(*throttle.Redis); ok && err == nil {
		err = r.Ready(ctx)
	}
	if d.intake != nil && (errors.Is(err, ledger.ErrRestored) || errors.Is(err, throttle.ErrUnavailable)) {
		return strings.TrimPrefix(note+"\nnothing is sent: "+err.Error(), "\n"), nil
	}
	return note, err
}

// numbersEvery is how often the service is asked for its numbers, so that a changed rate, tier or
// quality counts within a minute, and connectionsEvery for its connections. The platform allows an
// account with a registered number 5,000 management calls an hour, any other 200
// (docs/service.md#limits); each process makes 66.
const (
	numbersEvery     = time.Minute
	connectionsEvery = 10 * time.Minute
)

// changedEvery is the least time between two questions that events cause.
const changedEvery = 5 * time.Second

// numberChanged makes refreshNumbers ask now: an event is about a number or an account.
func (d *Daemon) numberChanged() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// The waits after a failure while no rate is known, because nothing is sent then: askAgain first,
// then double each time, up to mostAskAgain. Later failures wait a minute.
const (
	askAgain     = time.Second
	mostAskAgain = 30 * time.Second // 120 calls an hour
)

// refreshNumbers refreshes the numbers until ctx ends, the first time after wait. After an error
// the last known values stay in use.
func (d *Daemon) refreshNumbers(ctx context.Context, wait time.Duration) {
	again := askAgain
	var asked, listed time.Time
	var known faults.Known
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-d.changed:
			if wait = changedEvery - time.Since(asked); wait > 0 {
				continue
			}
		}
		wait, asked = numbersEvery, time.Now()
		err := error(nil)
		if asked.Sub(listed) >= connectionsEvery {
			if _, err = d.directory.RefreshConnections(ctx, d.client); err == nil {
				listed = asked
			}
		}
		if err == nil {
			var changed map[string]throughput.Pace
			changed, err = d.directory.RefreshRates(ctx, d.client)
			d.tellPaces(changed)
		}
		if ctx.Err() != nil {
			continue
		}
		if err == nil {
			if times := known.Succeeded(""); times > 0 {
				d.log.Info("the service lists its numbers again", "failures", times)
			}
			continue
		}
		message := "the service does not list its numbers; the last known pace holds"
		if wait = time.Minute; !d.directory.Ready() {
			message = "the service does not list its numbers; nothing is sent over a number without numbers.CONNECTION.rate and .tier"
			wait, again = again, min(2*again, mostAskAgain)
		}
		if changed, before := known.Failed("", faults.Words(err)); changed {
			d.log.Warn(message, faults.Counting(before, "err", err)...)
		}
	}
}

// mostPaces is how many paces that changed at once have a line of the log each.
const mostPaces = 10

// tellPaces logs the paces that changed. More of them have one line, as at a start with many
// numbers.
func (d *Daemon) tellPaces(changed map[string]throughput.Pace) {
	level := slog.LevelInfo
	if len(changed) > mostPaces {
		level = slog.LevelDebug
		d.log.Info("paces of numbers; log.level debug has each", "connections", len(changed))
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		d.log.Log(context.Background(), level, "pace of a number", "connection", id, "pace", changed[id].String())
	}
}

// refreshedAt is how long after a refresh that returned err the next one is due.
func refreshedAt(err error) time.Duration {
	if err != nil {
		return askAgain
	}
	return numbersEvery
}
