package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
	"campaignd/internal/clock"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/ledger"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/numbers"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

var (
	_ command.Operations = (*local)(nil)
)

// local is a session on the ledger of this machine, with its configuration.
type local struct {
	*operator.Session
	p *program
	c *config.Config
}

// ReportHTML writes the report of a run as one HTML file.
func (d *local) ReportHTML(ctx context.Context, id string, audit bool, w io.Writer) error {
	write, err := d.Session.ReportHTML(ctx, id, audit)
	if err != nil {
		return err
	}
	return write(w)
}

// Export writes one line for each row of a run's list.
func (d *local) Export(ctx context.Context, id string, w io.Writer) error {
	write, err := d.Session.Export(ctx, id)
	if err != nil {
		return err
	}
	return write(w)
}

// ExportExcel is Export in the form that Excel opens by a double click.
func (d *local) ExportExcel(ctx context.Context, id string, w io.Writer) error {
	write, err := d.Session.ExportExcel(ctx, id)
	if err != nil {
		return err
	}
	return write(w)
}

// ReportAgainst is a report compared with what the configured service counts.
func (d *local) ReportAgainst(ctx context.Context, id string) (*reporting.Report, error) {
	service, err := config.NewConnectors(d.c)
	switch {
	case errors.Is(err, connector.ErrNone):
	case err != nil:
		return nil, command.Invalid(err)
	default:
		defer service.Close()
		d.Service = service
	}
	return d.Session.ReportAgainst(ctx, id)
}

// Forecast says when a run will be done.
func (d *local) Forecast(ctx context.Context, id string) (f plan.Forecast, err error) {
	err = d.With(ctx, id, func(r campaign.Run) error {
		f, err = daemon.ForecastRun(ctx, d.Ledger, d.c, nil, r)
		return err
	})
	return f, err
}

// Cancel ends a run. If no process sends from the ledger, this one ends the run.
func (d *local) Cancel(ctx context.Context, id string) (resource.Controlled, error) {
	done, err := d.Session.Cancel(ctx, id)
	if err != nil {
		return done, err
	}
	no, err := campaign.ParseRunID(done.Run.ID)
	if err != nil {
		return done, err
	}
	run, err := daemon.EndCancelled(ctx, d.c, no, cancelBudget, d.p.log(d.c, true))
	switch {
	case errors.Is(err, campaign.ErrLocked): // the sender does it
		return done, nil
	case err == nil && run.State.Ended():
		done = resource.Controlled{Run: resource.RunOf(run),
			Sentence: fmt.Sprintf("%s is %s; `campaignd report %[1]s` tells who got it", run.ID(), run.State)}
	}
	return done, err
}

// cancelBudget is how long cancel waits for the run to end. Skipping a million rows takes a few
// seconds.
const cancelBudget = 30 * time.Second

// withLedgerSession opens the ledger of this machine for its user.
func (p *program) withLedgerSession(ctx context.Context, why command.Purpose, do func(*local) error) (err error) {
	l, c, err := p.openLedger(ctx, why)
	if err != nil {
		return err
	}
	defer command.Leaving(l, p.Stderr)
	rates, err := c.Rates()
	if err != nil {
		return command.Invalid(err)
	}
	lists, err := daemon.Audiences(c, l, p.log(c, true))
	if err != nil {
		return err
	}
	d := &operator.Session{Ledger: l, Lists: lists, UploadsIn: c.Uploads(), ErasuresIn: c.Erasures(), By: operator.LocalUser(),
		Repeats: c.Sending.Waits(), Rates: rates, Expiry: clock.Now(ctx, l, c.SharedLedger()), SentWithin: c.SentBefore.Within.Std()}
	d.Origins = func(ctx context.Context, h []campaign.Hold) func(string) campaign.Origin {
		return numbers.Origins(ctx, c, h)
	}
	d.Known = func(ctx context.Context) ([]campaign.Origin, bool) { return numbers.KnownOrigins(ctx, c) }
	d.Allowances = func(ctx context.Context, connections []string) ([]resource.Allowance, error) {
		return numbers.Allowances(ctx, c, l, connections)
	}
	d.Configured = func(connection string) bool {
		_, known := c.Numbers[connection]
		return known
	}
	if why != command.ToRead {
		d.Trail = operator.NewTrail("")
	}
	err = do(&local{d, p, c})
	err = errors.Join(err, d.Finish(ctx, "", "", operator.Result(err)))
	if err != nil {
		return command.RequestError(err)
	}
	if why == command.ToRead {
		p.sayRestored(ctx, l)
	}
	return nil
}

// sayRestored says that what was printed may lack what was sent since the ledger was copied: its
// sums balance all the same.
func (p *program) sayRestored(ctx context.Context, l campaign.Ledger) {
	s, ok := l.(ledger.Sendable)
	if !ok {
		return
	}
	if errors.Is(s.Sendable(ctx), ledger.ErrRestored) {
		fmt.Fprintln(p.Stderr, "campaignd: the ledger went back in time, so what was sent later is missing above; "+
			"`campaignd doctor` says what to do")
	}
}

// mistakable are the commands without --server that a user may expect to have it.
var mistakable = []string{"run", "ledger", "webhooks", "commerce", "doctor", "backup", "templates", "media"}

// sayLocal says that a command works on this machine although CAMPAIGND_SERVER names another one.
// It refuses a command that sends, because the ledger of this machine does not know the opt-outs of
// the other.
func (p *program) sayLocal(cmd *cobra.Command) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if p.Environment[command.ServerVariable] == "" || cmd.Flags().Lookup("server") != nil || !slices.Contains(mistakable, top.Name()) {
		return nil
	}
	if top.Name() == "run" {
		return command.Invalid(fmt.Errorf("run sends from this machine, and %[1]s names another: "+
			"`campaignd launch` sends from there; unset %[1]s to send from here", command.ServerVariable))
	}
	fmt.Fprintf(p.Stderr, "campaignd: %s is about this machine, not about %s%s\n",
		strings.TrimPrefix(cmd.CommandPath(), "campaignd "), command.ServerVariable, command.InsteadOf(cmd.Name()))
	return nil
}
