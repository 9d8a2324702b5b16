package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/numbers"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

// operations are the requests of the commands to the ledger of this machine or, with --server, to
// another campaignd. operator.Session and client.Client document them.
type operations interface {
	Runs(ctx context.Context, f campaign.RunFilter) ([]resource.Run, error)
	Pause(ctx context.Context, id string) (resource.Controlled, error)
	Resume(ctx context.Context, id string) (resource.Controlled, error)
	Cancel(ctx context.Context, id string) (resource.Controlled, error)
	Approve(ctx context.Context, id string) (resource.Controlled, error)
	Limits(ctx context.Context, id string) (resource.Limits, error)
	ChangeLimits(ctx context.Context, id string, c campaign.LimitChange) (resource.Limits, error)
	Why(ctx context.Context, id string) (why.Answer, error)
	WhyNumber(ctx context.Context, connection string) (why.Number, error)
	WhyRecipient(ctx context.Context, id, to string) (why.Row, error)
	Report(ctx context.Context, id string) (*reporting.Report, error)
	ReportAgainst(ctx context.Context, id string) (*reporting.Report, error)
	ReportHTML(ctx context.Context, id string, audit bool, w io.Writer) error
	Audit(ctx context.Context, id string) (*reporting.AuditResult, error)
	Export(ctx context.Context, id string, w io.Writer) error
	ExportExcel(ctx context.Context, id string, w io.Writer) error
	Forecast(ctx context.Context, id string) (plan.Forecast, error)
	Doubts(ctx context.Context, id string) (launch.Uncertainty, error)
	FollowUp(ctx context.Context, id string, r resource.FollowUpRequest) (resource.FollowedUp, error)
	Holds(ctx context.Context, ended bool) ([]campaign.HoldState, error)
	AddHold(ctx context.Context, h resource.HoldRequest) (campaign.HoldState, error)
	LiftHolds(ctx context.Context, l resource.LiftRequest) ([]campaign.HoldState, error)
	AddSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error)
	RemoveSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error)
	ImportSuppressions(ctx context.Context, file io.Reader, i resource.SuppressionImport) (resource.Imported, error)
	ExportSuppressions(ctx context.Context, w io.Writer) error
	ShowSuppressions(ctx context.Context, number string) ([]why.ShownSuppression, error)
	Person(ctx context.Context, number string, after int64, limit int) ([]resource.PersonMessage, int64, error)
	CreateKey(ctx context.Context, name, scope, company, idempotency string) (resource.NewKey, error)
	Keys(ctx context.Context) ([]resource.Key, error)
	RevokeKey(ctx context.Context, id string) (resource.Key, error)
	Actions(ctx context.Context, f campaign.ActionFilter) ([]resource.Action, error)
	Drops(ctx context.Context, after int64, limit int) ([]resource.Drop, int64, error)
	Notifications(ctx context.Context, state campaign.NotificationState, limit int) ([]resource.Notification, error)
	Notification(ctx context.Context, no int64) (resource.Notification, error)
	SendNotification(ctx context.Context, no int64) (resource.Notification, error)
	Erase(ctx context.Context, number string) (campaign.Erased, error)
}

var (
	_ operations = (*client.Client)(nil)
	_ operations = (*local)(nil)
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
		return nil, invalid(err)
	default:
		defer service.Close()
		d.Service = service
	}
	return d.Session.ReportAgainst(ctx, id)
}

// Forecast says when a run will be done.
func (d *local) Forecast(ctx context.Context, id string) (f plan.Forecast, err error) {
	err = d.With(ctx, id, func(r campaign.Run) error {
		f, err = daemon.ForecastRun(ctx, d.Ledger, d.c, r)
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

// The variables of the environment that name another campaignd and the key for it.
const (
	serverVariable = "CAMPAIGND_SERVER"
	keyVariable    = "CAMPAIGND_KEY"
)

// addServer gives a command --server. The key has no flag: the list of processes would show it.
func (p *program) addServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.server, "server", "", "another campaignd, for example https://host:8081; its key is in CAMPAIGND_KEY")
}

// mistakable are the commands without --server that a user may expect to have it.
var mistakable = []string{"run", "preview", "test", "ledger", "webhooks", "commerce", "doctor", "backup", "templates", "media"}

// insteadOf names a command with --server that does something similar.
func insteadOf(command string) string {
	if command == "run" {
		return "; `campaignd launch` gives a list to the campaignd of another machine"
	}
	return ""
}

// sayLocal says that a command works on this machine although CAMPAIGND_SERVER names another one.
// It refuses a command that sends, because the ledger of this machine does not know the opt-outs of
// the other.
func (p *program) sayLocal(cmd *cobra.Command) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if p.environment[serverVariable] == "" || cmd.Flags().Lookup("server") != nil || !slices.Contains(mistakable, top.Name()) {
		return nil
	}
	switch top.Name() {
	case "run":
		return invalid(fmt.Errorf("run sends from this machine, and %[1]s names another: "+
			"`campaignd launch` sends from there; unset %[1]s to send from here", serverVariable))
	case "test":
		return invalid(fmt.Errorf("test sends from this machine, and %[1]s names another: "+
			"unset %[1]s to send from here, or use `campaignd launch`", serverVariable))
	}
	fmt.Fprintf(p.stderr, "campaignd: %s is about this machine, not about %s%s\n", cmd.Name(), serverVariable, insteadOf(cmd.Name()))
	return nil
}

// remote returns the client of --server or CAMPAIGND_SERVER; nil without them.
func (p *program) remote() (*client.Client, error) {
	address := cmp.Or(p.server, p.environment[serverVariable])
	if address == "" {
		return nil, nil
	}
	if p.environment[keyVariable] == "" {
		return nil, invalid(fmt.Errorf("%s is empty: `campaignd keys create NAME` beside that campaignd makes a key for it", keyVariable))
	}
	c, err := client.New(address, p.environment[keyVariable], client.Options{})
	if err != nil {
		return nil, invalid(err)
	}
	return c, nil
}

// withOperations calls do with the ledger of this machine or with the other campaignd.
func (p *program) withOperations(ctx context.Context, why purpose, do func(operations) error) error {
	far, err := p.remote()
	if err != nil {
		return err
	}
	if far != nil {
		return requestError(do(far))
	}
	return p.withLedgerSession(ctx, why, func(d *local) error { return do(d) })
}

// withLedgerSession opens the ledger of this machine for its user.
func (p *program) withLedgerSession(ctx context.Context, why purpose, do func(*local) error) (err error) {
	l, c, err := p.openLedger(ctx, why)
	if err != nil {
		return err
	}
	defer closing(l, &err)
	rates, err := c.Rates()
	if err != nil {
		return invalid(err)
	}
	lists, err := daemon.Audiences(c, l, p.log(c, true))
	if err != nil {
		return err
	}
	d := &operator.Session{Ledger: l, Lists: lists, By: operator.LocalUser(), Repeats: c.Sending.Waits(), Rates: rates}
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
	return requestError(do(&local{d, p, c}))
}

// requestError gives a fault of the request its exit code, the same for both kinds of operations.
func requestError(err error) error {
	var told *client.Error
	switch {
	case errors.As(err, &told) && told.Code == client.CodeUnauthorized:
		return invalid(fmt.Errorf("the key in %s is not in force there, or was revoked; "+
			"`campaignd keys create NAME` beside that campaignd makes another", keyVariable))
	case errors.Is(err, operator.ErrInvalid), errors.Is(err, campaign.ErrNoKey), errors.Is(err, operator.ErrAbsent),
		errors.As(err, &told) && told.Invalid():
		return invalid(err)
	}
	return err
}

// absent reports whether err says that something does not exist.
func absent(err error) bool {
	var told *client.Error
	return errors.Is(err, operator.ErrAbsent) || errors.As(err, &told) && told.Code == client.CodeNotFound
}

// notNow reports whether err says that the state of a run does not allow the request.
func notNow(err error) bool {
	var told *client.Error
	return errors.Is(err, campaign.ErrNotNow) || errors.As(err, &told) && told.Code == client.CodeNotNow
}
