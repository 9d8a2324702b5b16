package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/internal/clock"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// Options tune the Intake. The zero value works. A negative value is an error of New.
type Options struct {
	// Sweep is the shortest time between two sweeps. A random time up to SweepJitter is added, so
	// that replicas do not sweep at the same moment. Defaults: 1 s and 1 s.
	Sweep, SweepJitter time.Duration
	// SweepTurn reports whether this process is the one that sweeps for all replicas. It is called
	// before each sweep and may ask the ledger. Default: always true.
	SweepTurn func(context.Context) bool
	// Seed is the seed of the jitter. Give each process another one. With one seed the draws
	// repeat.
	Seed uint64

	// Ledger is the id of the ledger, for LedgerHeader. Default: it is not told.
	Ledger string

	// Decode reads the events of a signed body. Default service.EventDecoder(OptOut).
	Decode func(body []byte) ([]messaging.Event, error)
	// Platforms are the apps whose events the platform itself posts. Default: none.
	Platforms []Platform
	// Mark reads the mark of a status that the platform signed (campaign.Marks). Default: no mark
	// is read.
	Mark func(mark string) (campaign.Post, bool)
	// Foreign reports whether only the platform may tell of a connection, an account or a company:
	// an event of the service about it is counted, and changes nothing. It is called by many
	// goroutines at once. Default: of none.
	Foreign func(connection, account, company string) bool
	// Connections returns the id of the connection with this number (digits without +), or "". It
	// is called for events that name a number and no connection, by many goroutines at once.
	// Default: "".
	Connections func(number string) string
	// Origin returns what is known of a connection: the ids that holds can name. It is called by
	// many goroutines at once. Default: the connection alone, which is its own account.
	Origin func(connection string) campaign.Origin
	// Peers returns the accounts of other connections that may be the business account of this one,
	// because the service does not tell the account. An event that lifts the holds of one account
	// lifts the holds of its peers too. It is called by many goroutines at once. Default: none.
	Peers func(connection string) []string
	// Tiered reports whether a connection has a tier: then a recipient's message is noted, because
	// it opens a service window (docs/limits.md#tier). It is called by many goroutines at once.
	// Default: no connection has one.
	Tiered func(connection string) bool
	// Runs keeps the runs that changes of their templates are about. Default: nil, for no runs.
	Runs Runs
	// Heard is called for the events of each request, once for each connection, and for each
	// message of a customer with its time (throttle.Sharer). It must not block. Default: it does
	// nothing.
	Heard func(connection string, at time.Time, message bool)
	// PerCompany limits an opt-out to the company of its connection. Default: it is for all
	// companies.
	PerCompany bool
	// OptOut knows the messages and button payloads that mean "stop". The zero value knows the
	// built-in list; messaging.NewOptOut adds the payloads of the operator's own buttons.
	OptOut messaging.OptOut

	// Replay is called when events have to be asked for again that were refused for their signature
	// since a time. It must not block. It may be nil.
	Replay func(since time.Time)
	// OnChange is called for each verified event about a number, an account or a company, by many
	// goroutines at once. It must not block. It may be nil.
	OnChange func()
	// Expiry is the time by which orphans and other records are too old; default: this machine's
	// clock. While it is not known, none is deleted.
	Expiry clock.Source
	// Apart is how far this machine's clock is known to be wrong; nil: it is not known. While it is
	// wrong, the ledger is not told that webhooks are taken, so no window of a doubt runs.
	Apart func() time.Duration
	// Log gets a line when something fails, and when it works again. Default: discarded.
	Log *slog.Logger
}

// The bounds of an Intake.
const (
	// maxBodies is the memory in bytes for all bodies longer than smallBody together, while they
	// are read and decoded. A body beyond it is answered 503.
	maxBodies = 64 << 20
	// maxWaiting is the number of events that may wait for a commit. A request beyond it is
	// answered 503. 65,536 events take about 20 MB, and 2 to 3 s of a ledger that takes 25,000
	// events a second: less than answerTime.
	maxWaiting = 1 << 16
	// maxBatch is the number of events at which a commit takes no further request. A request is
	// never split.
	maxBatch = 512
	// answerTime is the longest time from the first byte of a request to its answer. A request that
	// is not committed by then is answered 503. A sender that waits longer has given up
	// (docs/protocol.md#webhook-intake).
	answerTime = 10 * time.Second
	// commitTime is the longest time of one commit: half of answerTime, so that a request that
	// waits for the commit before its own can still be answered.
	commitTime = 5 * time.Second
	// drainTime is how long Run commits the waiting requests after its context has ended.
	drainTime = 5 * time.Second
	// retryAfter is the Retry-After of a 503, in seconds.
	retryAfter = "5"
)

func (o Options) withDefaults() (Options, error) {
	if err := cmp.Or(orDefault("Sweep", &o.Sweep), orDefault("SweepJitter", &o.SweepJitter)); err != nil {
		return o, err
	}
	if o.Decode == nil {
		o.Decode = service.EventDecoder(o.OptOut)
	}
	if o.Mark == nil {
		o.Mark = func(string) (campaign.Post, bool) { return campaign.Post{}, false }
	}
	if o.Foreign == nil {
		o.Foreign = func(string, string, string) bool { return false }
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
	if o.Heard == nil {
		o.Heard = func(string, time.Time, bool) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// orDefault sets an option that is 0 to 1 s. The error names one that is negative.
func orDefault(name string, at *time.Duration) error {
	if *at < 0 {
		return fmt.Errorf("webhooks: Options.%s is %v: want a positive value, or 0 for %v", name, *at, time.Second)
	}
	*at = cmp.Or(*at, time.Second)
	return nil
}
