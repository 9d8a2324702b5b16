package ledger

import (
	"context"
	"time"
)

// Copyable is a ledger that can copy itself. One on a server is copied by the tools of the server.
type Copyable interface {
	// Backup writes a copy to a new file, also beside a sender.
	Backup(ctx context.Context, file string) error
}

// Diagnosable is a ledger that tells what keeps its commits. Both backends can.
type Diagnosable interface {
	Diagnose(ctx context.Context) (Diagnosis, error)
}

// Failing is a ledger that knows since when it takes no writes. Both backends do, and `run` waits
// until it takes them again.
type Failing interface {
	// Unwritable returns since when writes fail, with the last error; nil: they do not.
	Unwritable() (since time.Time, err error)
}

// Sendable is a ledger that can tell whether it may be sent from, without being a sender. Both
// backends can.
type Sendable interface {
	// Sendable returns why nothing may be sent from the ledger: ErrRestored, also for one that is open
	// to be read, or campaign.ErrUnwritable when its file is gone.
	Sendable(ctx context.Context) error
}
