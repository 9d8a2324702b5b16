package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"campaignd/campaign"
)

// Options say how a ledger is opened. The zero value opens it beside a running
// sender: to read, and to write what the operator wants.
type Options struct {
	// Origin returns what is known of a connection: the ids that the holds of its failed statuses
	// name. Nil: only the connection is known.
	Origin func(connection string) campaign.Origin
	// Platform returns the connections of the Cloud API, in order: only an event of the connection
	// itself is about one of its messages (Tells). It is called in each transaction that applies
	// events. Nil: there are none.
	Platform func() []string
	// PerCompany limits an opt-out that a refusal tells of to the company of its connection. Default:
	// it stops the messages of every company.
	PerCompany bool

	// Notify returns the destinations that are told of a kind of event; it makes a notification for
	// each. Nil: none.
	Notify func(campaign.NotificationKind) []string

	// Sender takes the ledger for sending. On SQLite it locks PATH.lock until Close, or
	// fails with campaign.ErrLocked naming the process that has it; and since nobody
	// else can be sending then, every lease in the ledger ends at once. On PostgreSQL any number
	// of processes are senders; leases of those that died run out.
	Sender bool
	// ReadOnly never writes, not even a migration: the schema must be this program's.
	ReadOnly bool
	// Copy lets a process read an SQLite file that it may not write: the file itself while a sender
	// has it open, otherwise a copy in a temporary folder, which Close removes. The log says which.
	Copy bool
	// AcceptRestored opens a ledger that went back in time (ErrRestored). It sends nothing before
	// its Quarantine: Claim and Intend answer ErrRestored.
	AcceptRestored bool
	// Address returns the address as the configuration has it now. It is called when a database
	// server refuses the user or the password, which may have been rotated. Nil: the address of Open.
	Address func() (string, error)
	// Connections is how many connections to a database server the ledger opens at most. Default: 12.
	Connections int
	// Log gets warnings about the ledger's health; nil discards them.
	Log *slog.Logger
}

// Check refuses options that contradict each other, and fills in the default of Log.
func (o Options) Check() (Options, error) {
	if o.Sender && (o.ReadOnly || o.Copy) {
		return o, errors.New("ledger: a sender cannot be read-only")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Platform == nil {
		o.Platform = func() []string { return nil }
	}
	return o, nil
}

// ErrRestored says that the ledger is not the one last used: a backup was restored, the
// file was copied from elsewhere, a standby of the server was promoted. Deliveries may have been
// posted that it does not know of, so sending from it could send twice.
var ErrRestored = errors.New("it went back in time")

// ErrClosed is the answer of a ledger after Close.
var ErrClosed = errors.New("ledger is closed")

// Promised reports whether err is an answer that the interfaces of package campaign promise. A
// backend adds the name of the ledger to other errors only.
func Promised(err error) bool {
	for _, answer := range []error{campaign.ErrFenced, campaign.ErrNoRun, campaign.ErrRunExists, campaign.ErrCancelled,
		campaign.ErrFollowedUp, campaign.ErrNoKey, campaign.ErrSameContent} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// Opener opens the ledger of one database: sqlite.Open takes the path of a file, postgres.Open a
// connection string of libpq.
type Opener[L campaign.Ledger] func(ctx context.Context, address string, o Options) (L, error)

// Open opens the ledger that dsn names: "sqlite:PATH", or "postgres://..." in the form
// of libpq. The backends import this package, so the caller passes their Open functions
// (docs/decisions/0014-ledger-packages.md). The errors are those of the backend.
func Open[S, P campaign.Ledger](ctx context.Context, dsn string, o Options, sqlite Opener[S], postgres Opener[P]) (campaign.Ledger, error) {
	scheme, rest, ok := strings.Cut(dsn, ":")
	switch {
	case ok && scheme == "sqlite" && rest != "":
		return opened(sqlite(ctx, strings.TrimPrefix(rest, "//"), o))
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return opened(postgres(ctx, dsn, o))
	}
	return nil, fmt.Errorf("ledger: want sqlite:PATH or postgres://..., not %q", Redact(dsn))
}

// opened returns nil beside an error, and not an interface with a nil pointer.
func opened[L campaign.Ledger](l L, err error) (campaign.Ledger, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Redact keeps a mistyped address's password out of messages, also one among its parameters.
func Redact(dsn string) string {
	shown, rest, _ := strings.Cut(dsn, "?")
	switch i := strings.LastIndexByte(shown, '@'); {
	case i >= 0:
		return "***" + shown[i:]
	case strings.Contains(rest, "@"), strings.Contains(shown, "password"): // a password with a question mark, and the form key=value
		return "***"
	}
	return shown
}
