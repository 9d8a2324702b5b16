package daemon

import (
	"context"
	"log/slog"
	"net/http"

	"campaignd/internal/operator"
)

// Options are what a command decides and the configuration does not.
type Options struct {
	// Log takes the log. Nil: nothing is logged.
	Log     *slog.Logger
	Patient bool // waits for space on a full disk until ctx ends, and not for ledgerWait alone
	// API makes the operator's API, which Serve mounts on the admin listener. Its requests end with
	// ctx. Nil: there is none, and `campaignd launch` does not reach this process.
	API func(ctx context.Context, p operator.Process) (API, error)
	// Console makes the console of the same process, which Serve mounts under /console/ if the
	// configuration has it. Nil: there is none.
	Console func(ctx context.Context, p operator.Process) (http.Handler, error)
}
