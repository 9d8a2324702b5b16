package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

// Operations are the requests of the commands to the ledger of this machine or, with --server, to
// another campaignd. operator.Session and client.Client document them.
type Operations interface {
	Runs(ctx context.Context, f campaign.RunFilter) ([]resource.Run, error)
	Run(ctx context.Context, id string) (resource.Run, error)
	History(ctx context.Context, id string) (campaign.History, error)
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
	Holds(ctx context.Context, ended bool) ([]wording.HoldState, error)
	AddHold(ctx context.Context, h resource.HoldRequest) (wording.HoldState, error)
	LiftHolds(ctx context.Context, l resource.LiftRequest) ([]wording.HoldState, error)
	AddSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error)
	RemoveSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error)
	ImportSuppressions(ctx context.Context, file io.Reader, i resource.SuppressionImport) (resource.Imported, error)
	ExportSuppressions(ctx context.Context, w io.Writer) error
	ShowSuppressions(ctx context.Context, number string) ([]why.ShownSuppression, error)
	Person(ctx context.Context, number string, after int64, limit int) ([]resource.PersonMessage, int64, error)
	ExportPerson(ctx context.Context, number string) (resource.PersonExport, error)
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

// The variables of the environment that name another campaignd and the key for it.
const (
	ServerVariable = "CAMPAIGND_SERVER"
	keyVariable    = "CAMPAIGND_KEY"
)

// Purpose is what a command opens the ledger for.
type Purpose int

const (
	ToRead   Purpose = iota // also where this user may not write
	ToChange                // it must exist: in a wrong folder, a new empty ledger would have no runs
	ToCreate
)

// AddServer gives a command --server. The key has no flag: the list of processes would show it.
func (p *Program) AddServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.Server, "server", "", "another campaignd, for example https://host:8081; its key is in CAMPAIGND_KEY")
}

// HasServer reports whether --server or CAMPAIGND_SERVER names another campaignd.
func (p *Program) HasServer() bool { return p.serverAddress() != "" }

func (p *Program) serverAddress() string { return cmp.Or(p.Server, p.Environment[ServerVariable]) }

// Remote returns the client of --server or CAMPAIGND_SERVER; nil without them.
func (p *Program) Remote() (*client.Client, error) {
	address := p.serverAddress()
	if address == "" {
		return nil, nil
	}
	if p.Environment[keyVariable] == "" {
		return nil, Invalid(fmt.Errorf("%s is empty: `campaignd keys create NAME` beside that campaignd makes a key for it", keyVariable))
	}
	c, err := client.New(address, p.Environment[keyVariable], client.Options{})
	if err != nil {
		return nil, Invalid(err)
	}
	return c, nil
}

// WithOperations calls do with the ledger of this machine or with the other campaignd.
func (p *Program) WithOperations(ctx context.Context, why Purpose, do func(Operations) error) error {
	far, err := p.Remote()
	if err != nil {
		return err
	}
	if far != nil {
		return RequestError(do(far))
	}
	return p.Local(ctx, why, do)
}

// RequestError gives a fault of the request its exit code, the same for both kinds of operations.
func RequestError(err error) error {
	var told *client.Error
	switch {
	case errors.As(err, &told) && told.Code == client.CodeUnauthorized:
		return Invalid(fmt.Errorf("the key in %s is not in force there, or was revoked; "+
			"`campaignd keys create NAME` beside that campaignd makes another", keyVariable))
	case errors.Is(err, operator.ErrInvalid), errors.Is(err, campaign.ErrNoKey), errors.Is(err, operator.ErrAbsent),
		errors.As(err, &told) && told.Invalid():
		return Invalid(err)
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
