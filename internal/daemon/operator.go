package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/campaign/wording"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
	"campaignd/internal/version"
)

// API answers operators (internal/api).
type API interface {
	http.Handler
	// Run tells clients what changes, until ctx ends.
	Run(ctx context.Context)
}

// numbersNow returns the connections with their limits as they are now.
func (d *Daemon) numbersNow(ctx context.Context) ([]resource.Number, error) {
	holds, err := d.ledger.Holds(ctx, false)
	if err != nil {
		return nil, err
	}
	now, out := time.Now(), []resource.Number{}
	allowed, err := d.quotas.Allowances(ctx, d.directory.IDs(), now)
	if err != nil {
		return nil, err
	}
	for _, id := range d.directory.IDs() {
		o, tier := d.directory.Origin(id), d.directory.Tier(id)
		n := resource.Number{Connection: id, Company: o.Company, Account: o.Account, Portfolio: o.Portfolio, Rate: d.directory.Pace(id),
			Quality: d.directory.QualityOf(id), Tier: tier.Places}
		if tier.Places > 0 {
			if n.Reached, err = peopleReached(ctx, d.ledger, tier.Portfolio, now); err != nil {
				return nil, err
			}
		}
		if i := slices.IndexFunc(allowed, func(a resource.Allowance) bool { return a.Company == o.Company }); i >= 0 {
			n.Allowance = &allowed[i]
		}
		stop := slices.DeleteFunc(slices.Clone(holds), func(h campaign.Hold) bool { return !h.InForce(now) || !h.Stops(o) })
		n.Holds = wording.States(stop, now)
		out = append(out, n)
	}
	return out, nil
}

// operatorsAPI makes the operator's API and the console, and the access to them without its URL.
// The access has no key beside a PostgreSQL ledger, whose own keys open the API of every process.
// The API is nil if Options.API is.
func (d *Daemon) operatorsAPI(ctx context.Context, e *sender.Engine) (_ API, console http.Handler, _ client.Access, err error) {
	access := client.Access{}
	if d.makeAPI == nil {
		return nil, nil, access, nil
	}
	if !d.cfg.SharedLedger() && e != nil {
		access = client.NewAccess("")
	}
	dir, err := filepath.Abs(d.cfg.Uploads())
	if err != nil {
		return nil, nil, access, err
	}
	if d.client != nil {
		d.asked = &recent{Service: d.client}
	}
	p := operator.Process{
		OptOut: d.cfg.OptOut(),
		Guard:  operator.NewGuard(access.Key, d.ledger), Uploads: uploads.New(dir, d.unfinished), Log: d.log, Version: version.String(),
		Session: operator.Session{Ledger: d.ledger, Lists: d.audiences, UploadsIn: dir,
			ErasuresIn: d.cfg.Erasures(), Rates: d.rates, Repeats: d.cfg.Sending.Waits(),
			Expiry: d.clock.Now, SentWithin: d.cfg.SentBefore.Within.Std(),
			Origins: func(context.Context, []campaign.Hold) func(string) campaign.Origin {
				return d.directory.Origin
			},
			Known: func(context.Context) ([]campaign.Origin, bool) { return d.directory.KnownOrigins() },
			Allowances: func(ctx context.Context, connections []string) ([]resource.Allowance, error) {
				return d.quotas.Allowances(ctx, connections, time.Now())
			},
			Configured: func(connection string) bool {
				_, known := d.cfg.Numbers[connection]
				return known
			}},
		Forecast: func(ctx context.Context, r campaign.Run) (plan.Forecast, error) {
			return ForecastRun(ctx, d.ledger, d.cfg, d.quotas, r)
		},
		Folder:  d.schedule.Files,
		Numbers: d.numbersNow, Check: d.checkFile, Foresee: d.forecastFile,
	}
	if d.client != nil {
		p.Session.Service, p.Messages, p.Turn = d.client, d.client, turnOf(d.ledger, d.directory, d.limiter)
	}
	p.Uploads.Closed = e == nil
	if e != nil {
		p.Launch = func(ctx context.Context, u operator.Upload) (resource.Launched, error) {
			out, err := d.launchList(ctx, byRequest, u)
			if err == nil {
				e.Poke()
			}
			return out, err
		}
	}
	operators, err := d.makeAPI(ctx, p)
	if err == nil && d.makeConsole != nil && d.cfg.Console.Enabled {
		console, err = d.makeConsole(ctx, p)
	}
	return operators, console, access, err
}

// unfinished returns the unfinished runs, whose uploads are kept.
func (d *Daemon) unfinished(ctx context.Context) ([]campaign.Run, error) {
	return d.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
}

// launchList launches a campaign over a list for an operator, and returns when the list is
// imported. A `serve` on the ledger sends it.
func (d *Daemon) launchList(ctx context.Context, through launcher, u operator.Upload) (out resource.Launched, err error) {
	l := d.schedule.Launch(u.Campaign, "")
	l.List, l.New, l.NewKey, l.By, l.Draft, l.NoWait, l.Unattended = u.List, u.Another, u.Idempotency, u.By, u.Draft, false, false
	l.LeaveOutSent, l.SendAgain = u.LeaveOutSent, u.SendAgain
	l.Scheduled = scheduledToo(ctx, d.ledger, d.cfg.Campaigns)
	l.Checked = d.checkLaunch(ctx, u.Campaign, through, func(p *launch.Preflight) {
		for _, w := range p.Warnings() {
			out.Warnings = append(out.Warnings, w.String())
		}
	})
	l.Beside = func(r campaign.Run, diff launch.ListDifference) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s is unfinished and has another list: %s", r.ID(), diff))
	}
	launched, err := d.audiences.Start(ctx, l)
	if err != nil {
		return resource.Launched{}, err
	}
	if len(launched.Changed) > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the campaign file has changed since %s was launched (%s): new=true (--new) launches it",
			launched.Run.ID(), strings.Join(launched.Changed, "; ")))
	}
	out.Run, out.Resumed, out.Ended = resource.LaunchedRunOf(launched.Run), launched.Resumed, launched.Ended
	return out, nil
}

// LaunchInto launches into a PostgreSQL ledger, beside its senders.
func LaunchInto(ctx context.Context, c *config.Config, r client.Launch, log *slog.Logger) (out resource.Launched, err error) {
	d := &Daemon{cfg: c, log: log, owner: ownerName(), directory: numbers.NewDirectory(c)}
	if d.ledger, err = openLedger(ctx, c, false, log, d.directory); err != nil {
		return out, err
	}
	d.closers = append(d.closers, d.ledger.Close)
	defer closing(d, log)
	if err := d.openAudiences(ctx); err != nil {
		return out, err
	}
	if d.client, err = config.NewConnectors(c); err != nil {
		return out, err
	}
	d.schedule = d.newScheduler()
	out, err = d.launchList(ctx, byCommand, operator.Upload{Campaign: r.Campaign, List: r.List, Another: r.New, LeaveOutSent: r.LeaveOutSent,
		SendAgain: r.SendAgain, By: operator.LocalUser()})
	session := operator.Session{Ledger: d.ledger}
	if noted := session.Note(context.WithoutCancel(ctx), operator.LocalUser(), "launch", out.Run.ID, operator.Result(err)); noted != nil {
		out.Warnings = append(out.Warnings, "the log of actions has no line of this launch")
	}
	return out, err
}

// Act is an action of a command, with its line in the log of actions of the ledger.
type Act struct {
	What, On string
	Log      *slog.Logger
	// Unwritten is told why an action that was done has no line. nil: it is not done without one.
	Unwritten func(error)
}

// Do does the action. Without a ledger there is no line, unless the action makes the ledger.
func (a Act) Do(ctx context.Context, c *config.Config, do func() error) error {
	s := &operator.Session{By: operator.LocalUser(), Trail: operator.NewTrail("")}
	write := func(line func() error) (err error) {
		if c.NoLedger() {
			return nil
		}
		if s.Ledger, err = OpenLedger(ctx, c, false, a.Log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Ledger.Close()) }()
		return line()
	}
	err := write(func() error { return s.Note(ctx, s.By, a.What, a.On, "") })
	switch {
	case err != nil && a.Unwritten == nil:
		return err
	case err != nil:
		done := do()
		if done == nil {
			a.Unwritten(err)
		}
		return done
	}
	done := do()
	// The caller may have ended it: the result is written all the same.
	ctx = context.WithoutCancel(ctx)
	if err := write(func() error { return s.Finish(ctx, a.What, a.On, operator.Result(done)) }); err != nil {
		a.Log.Error("the log of actions lacks the result of a command", "command", a.What, "err", err)
	}
	return done
}

// errNobodyServes says that no process takes launches for an SQLite ledger.
var errNobodyServes = errors.New("no `campaignd serve` takes launches")

// Beside returns a client of the process that has the lock of the SQLite ledger and serves the API;
// nil: none does.
func Beside(ctx context.Context, c *config.Config) (*client.Client, error) {
	access, err := client.ReadAccess(c.AccessFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	beside, err := access.Client()
	if err != nil {
		return nil, err
	}
	_, err = beside.Runs(ctx, campaign.RunFilter{Limit: 1})
	if network := (*net.OpError)(nil); errors.As(err, &network) && network.Op == "dial" { // it was killed, and left its file
		return nil, nil
	}
	return beside, nil
}

// LaunchBeside sends a launch to the process that has the lock of the SQLite ledger.
func LaunchBeside(ctx context.Context, c *config.Config, r client.Launch) (resource.Launched, error) {
	nobody := fmt.Errorf("%w for the ledger %s; start one, or send the list with `campaignd run`", errNobodyServes, c.LedgerFile())
	access, err := client.ReadAccess(c.AccessFile())
	if errors.Is(err, fs.ErrNotExist) {
		return resource.Launched{}, nobody
	}
	if err != nil {
		return resource.Launched{}, err
	}
	beside, err := access.Client()
	if err != nil {
		return resource.Launched{}, err
	}
	out, err := beside.Launch(ctx, r)
	var network *net.OpError
	var told *client.Error
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &told):
		return out, err
	case errors.As(err, &network) && network.Op == "dial": // it was killed, and left its file
		return out, nobody
	}
	return out, fmt.Errorf("the `campaignd serve` of the ledger %s gave no answer: when it serves again, the same command goes on: %w",
		c.LedgerFile(), err)
}
