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

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/api"
)

// accessFile is the path of the file that tells how the process with the ledger's lock is reached.
func (c *Config) accessFile() string { return c.LedgerFile() + ".api" }

// operatorsAPI makes the operator's API, and the access to it without its URL. It is nil beside a
// PostgreSQL ledger, which any process may launch into, and in a process that sends nothing.
func (d *Daemon) operatorsAPI(ctx context.Context, e *sender.Engine) (http.Handler, api.Access, error) {
	if d.cfg.sharedLedger() || e == nil {
		return nil, api.Access{}, nil
	}
	dir, err := filepath.Abs(d.cfg.LedgerFile() + ".uploads")
	if err != nil {
		return nil, api.Access{}, err
	}
	access := api.NewAccess("")
	s, err := api.New(ctx, api.Options{
		Key: access.Key, Keys: d.ledger, Dir: dir, Log: d.log,
		Launch: func(ctx context.Context, file, list string, another bool) (api.Launched, error) {
			out, err := d.LaunchList(ctx, file, list, another)
			if err == nil {
				e.Poke()
			}
			return out, err
		},
		Unfinished: func(ctx context.Context) ([]campaign.Run, error) {
			return d.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
		},
	})
	return s, access, err
}

// LaunchList launches a campaign over a list and returns when the list is imported. A `serve` on the
// ledger sends it.
func (d *Daemon) LaunchList(ctx context.Context, file, list string, another bool) (out api.Launched, err error) {
	l := d.launch(file, "")
	l.List, l.New, l.NoWait, l.Unattended = list, another, false, false
	l.Checked = d.checkLaunch(ctx, file, func(p *campaign.Preflight) {
		for _, w := range p.Warnings() {
			out.Warnings = append(out.Warnings, w.String())
		}
	})
	l.Beside = func(r campaign.Run, diff campaign.ListDifference) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s is unfinished and has another list: %s", r.ID(), diff))
	}
	launched, err := l.Start(ctx)
	if err != nil {
		return api.Launched{}, err
	}
	out.Run, out.Resumed, out.Ended = api.FactsOf(launched.Run), launched.Resumed, launched.Ended
	return out, nil
}

// LaunchInto launches into a PostgreSQL ledger, beside its senders.
func LaunchInto(ctx context.Context, c *Config, r api.Request, log *slog.Logger) (out api.Launched, err error) {
	d := &Daemon{cfg: c, log: log, owner: ownerName(), directory: newDirectory(c)}
	if d.ledger, err = openLedger(ctx, c, false, log, d.directory); err != nil {
		return out, err
	}
	d.closers = append(d.closers, d.ledger.Close)
	defer func() { err = errors.Join(err, d.Close()) }()
	if d.client, err = NewClient(c); err != nil {
		return out, err
	}
	return d.LaunchList(ctx, r.Campaign, r.List, r.New)
}

// ErrNobodyServes says that no process takes launches for an SQLite ledger.
var ErrNobodyServes = errors.New("no `campaignd serve` takes launches")

// LaunchBeside sends a launch to the process that has the lock of the SQLite ledger.
func LaunchBeside(ctx context.Context, c *Config, r api.Request) (api.Launched, error) {
	nobody := fmt.Errorf("%w for the ledger %s; start one, or send the list with `campaignd run`", ErrNobodyServes, c.LedgerFile())
	access, err := api.ReadAccess(c.accessFile())
	if errors.Is(err, fs.ErrNotExist) {
		return api.Launched{}, nobody
	}
	if err != nil {
		return api.Launched{}, err
	}
	out, err := access.Launch(ctx, r)
	var network *net.OpError
	var told *api.Error
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &told):
		return out, err
	case errors.As(err, &network) && network.Op == "dial": // it was killed, and left its file
		return out, nobody
	}
	return out, fmt.Errorf("the `campaignd serve` of the ledger %s gave no answer: when it serves again, the same command goes on: %w",
		c.LedgerFile(), err)
}

// LaunchesBeside reports whether a launch has to go to the process that has the ledger's lock.
func (c *Config) LaunchesBeside() bool { return !c.sharedLedger() }
