package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// Options tune the Intake. The zero value works. A negative value is an error of New.
type Options struct {
	// MaxBody is the longest body of a request, in bytes. Default and upper bound: messaging.MaxBody.
	MaxBody int64
	// MaxBodies is the memory for all bodies longer than 16 KiB together, while they are read and
	// decoded, in bytes. A body beyond it is answered 503. Default 64 MiB.
	MaxBodies int64
	// MaxWaiting is the number of events that may wait for a commit. A request beyond it is answered
	// 503. Default 65,536: about 20 MB, and 2 to 3 s of a ledger that takes 25,000 events a second,
	// well within Hold.
	MaxWaiting int
	// Group is the number of events at which a commit takes no further request; a request is never
	// split. Default 512.
	Group int
	// Hold is the longest time from the first byte of a request to its answer. A request that is not
	// committed by then is answered 503. Default and upper bound: 10 s.
	Hold time.Duration
	// Drain is how long Run commits the waiting requests after its context has ended. Default 5 s.
	Drain time.Duration
	// RetryAfter is the Retry-After of a 503, sent in whole seconds and at least 1 s. Default 5 s.
	RetryAfter time.Duration

	// Sweep is the shortest time between two sweeps. A random time up to SweepJitter is added, so that
	// replicas do not sweep at the same moment. Defaults: 1 s and 1 s.
	Sweep, SweepJitter time.Duration
	// SweepTurn reports whether this process is the one that sweeps for all replicas. It is called
	// before each sweep and may ask the ledger. Default: always true.
	SweepTurn func(context.Context) bool
	// Seed decides the jitter. Give each process another one; a simulation gives the same one again.
	Seed uint64

	// Decode reads the events of a signed body. Default messaging.DecodeEvents.
	Decode func(body []byte) ([]messaging.Event, error)
	// Connections returns the id of the connection with this number (digits without +), or "". It is
	// called for events that name a number and no connection, by many goroutines at once. Default: "".
	Connections func(number string) string
	// Origin returns what is known of a connection: the ids that holds name. It is called by many
	// goroutines at once. Default: the connection alone, which is its own account.
	Origin func(connection string) campaign.Origin
	// Peers returns the accounts of other connections that may be the business account of this one,
	// because nobody tells it. An event that lifts the holds of one lifts theirs too. It is called by
	// many goroutines at once. Default: none.
	Peers func(connection string) []string
	// Tiered reports whether a connection has a tier: then a recipient's message is noted, because it
	// opens a service window (docs/limits.md#tier). It is called by many goroutines at once. Default:
	// none has one.
	Tiered func(connection string) bool
	// PerCompany keeps an opt-out to the company of its connection. Default: it is one from all.
	PerCompany bool
	// OptOut knows the messages and button payloads that mean "stop". The zero value knows the
	// built-in list; messaging.NewOptOut adds the payloads of the operator's own buttons.
	OptOut messaging.OptOut

	// OnChange is called for each verified event about a number, an account or a client, by many
	// goroutines at once. It must not block. It may be nil.
	OnChange func()
	// Log gets a line when something fails, and when it works again. Default: discarded.
	Log *slog.Logger
}

// commitTime is the longest time of one commit: half of maxHold, so that a request that waits for
// the commit before its own can still be answered.
const commitTime = 5 * time.Second

// maxHold is the upper bound of Hold. A sender that waits longer has given up
// (docs/protocol.md#webhook-intake).
const maxHold = 10 * time.Second

func (o Options) withDefaults() (Options, error) {
	if err := cmp.Or(
		orDefault("Hold", &o.Hold, maxHold),
		orDefault("Drain", &o.Drain, 5*time.Second),
		orDefault("RetryAfter", &o.RetryAfter, 5*time.Second),
		orDefault("Sweep", &o.Sweep, time.Second),
		orDefault("SweepJitter", &o.SweepJitter, time.Second),
		orDefault("MaxBody", &o.MaxBody, messaging.MaxBody),
		orDefault("MaxBodies", &o.MaxBodies, 64<<20),
		orDefault("MaxWaiting", &o.MaxWaiting, 1<<16),
		orDefault("Group", &o.Group, 512),
	); err != nil {
		return o, err
	}
	if o.Hold > maxHold {
		return o, fmt.Errorf("webhooks: Options.Hold is %v: want at most %v", o.Hold, maxHold)
	}
	if o.MaxBody > messaging.MaxBody {
		return o, fmt.Errorf("webhooks: Options.MaxBody is %d: want at most %d, the longest body that can be decoded",
			o.MaxBody, messaging.MaxBody)
	}
	if o.Decode == nil {
		o.Decode = messaging.DecodeEvents
	}
	if o.Connections == nil {
		o.Connections = func(string) string { return "" }
	}
	if o.Origin == nil {
		o.Origin = func(c string) campaign.Origin { return campaign.Origin{Connection: c, Account: c} }
	}
	if o.Peers == nil {
		o.Peers = func(string) []string { return nil }
	}
	if o.Tiered == nil {
		o.Tiered = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// orDefault sets an option that is 0 to its default. The error names one that is negative.
func orDefault[T int | int64 | time.Duration](name string, at *T, def T) error {
	if *at < 0 {
		return fmt.Errorf("webhooks: Options.%s is %v: want a positive value, or 0 for %v", name, *at, def)
	}
	*at = cmp.Or(*at, def)
	return nil
}
