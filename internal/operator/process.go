package operator

import (
	"context"
	"log/slog"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/uploads"
)

// Process is what operators may ask of a process that serves, beside its ledger. internal/daemon
// fills it and internal/api asks it. A member is required unless its comment says otherwise.
type Process struct {
	// Guard admits requests.
	Guard *Guard
	// Session has the ledger and the connections that its runs are sent over. Each request gets a
	// session of its own caller.
	Session Session
	// Uploads has the uploaded lists.
	Uploads *uploads.Folder
	// Launch launches a campaign file over a list. ctx ends when the process stops, not with the
	// request. Nil: the process accepts no list, and Uploads is closed.
	Launch func(ctx context.Context, u Upload) (resource.Launched, error)
	// Forecast says when a run will be done.
	Forecast func(ctx context.Context, r campaign.Run) (plan.Forecast, error)
	// Folder returns the files of the campaigns folder, by name.
	Folder func() ([]File, error)
	// Check says what a launch of a campaign over a list would do. It reads the whole list; a list of
	// "" is the one that the campaign names.
	Check func(ctx context.Context, f File, list string) (*launch.Preflight, error)
	// Foresee says when a campaign whose list was checked would be done, if it were launched now.
	Foresee func(ctx context.Context, f File, found *launch.Preflight) (plan.Forecast, error)
	// Messages is the messaging service, for previews and test messages; nil: none is configured.
	Messages launch.Tester
	// OptOut knows the words and the titles of buttons that opt out, for previews.
	OptOut messaging.OptOut
	// Turn lets test messages wait for their slots, and obey the holds.
	Turn launch.Turn
	// Numbers returns the connections, with their limits now.
	Numbers func(ctx context.Context) ([]resource.Number, error)
	// Version is that of the program, in the API's document; it is not empty.
	Version string
	Log     *slog.Logger
}

// ForecastLaunch says when a campaign over a list would be done. It reads the whole list, as Check
// does. The error is a *launch.PreflightError if it could not be launched.
func (p *Process) ForecastLaunch(ctx context.Context, f File, list string) (plan.Forecast, error) {
	found, err := p.Check(ctx, f, list)
	switch {
	case err != nil:
		return plan.Forecast{}, err
	case !found.OK():
		return plan.Forecast{}, &launch.PreflightError{Preflight: found}
	}
	return p.Foresee(ctx, f, found)
}
