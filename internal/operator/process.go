package operator

import (
	"context"
	"log/slog"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
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
	// Launch launches a campaign file over a list for the operator by. ctx ends when the process
	// stops, not with the request. A repeated idempotency key, if it is not "", finds the same run
	// again. Nil: the process accepts no list.
	Launch func(ctx context.Context, file, list string, another bool, idempotency, by string) (resource.Launched, error)
	// Forecast says when a run will be done.
	Forecast func(ctx context.Context, r campaign.Run) (plan.Forecast, error)
	// Folder returns the files of the campaigns folder, by name.
	Folder func() ([]File, error)
	// Check says what a launch of a campaign over a list would do, and ForecastLaunch when it would be
	// done. Both read the whole list; a list of "" is the one that the campaign names.
	Check          func(ctx context.Context, f File, list string) (*launch.Preflight, error)
	ForecastLaunch func(ctx context.Context, f File, list string) (plan.Forecast, error)
	// Messages is the messaging service, for previews and test messages; nil: none is configured.
	Messages launch.Tester
	// Numbers returns the connections, with their limits now.
	Numbers func(ctx context.Context) ([]resource.Number, error)
	// Version is that of the program, in the API's document; it is not empty.
	Version string
	Log     *slog.Logger
}
