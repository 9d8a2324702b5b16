package sender

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/clock"
	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// Options tune an Engine. The zero value of each field means its default.
type Options struct {
	// Owner names this process in leases. It is required.
	Owner string
	// Only is the one run to serve; 0: every run.
	Only campaign.RunNo
	// Ended is called with each run that this engine ends; default: it writes a line of the log.
	// While it runs, the engine reads no runs; the workers go on.
	Ended func(ctx context.Context, r campaign.Run)
	// Held is called with the ledger's holds each time that they are read, once a second. The next
	// reading waits for it. Default: it does nothing.
	Held func(ctx context.Context, all []campaign.Hold)
	// Lease is the term of a segment's lease; default 15s. Posts begin until a fifth of it is left,
	// and may outlast it.
	Lease time.Duration
	// Group is how long a number sends one group of intents; default 50ms. At most two groups of a
	// number are granted and not yet posted. Over a ledger with slow commits a group covers up to
	// 250ms.
	Group time.Duration
	// Flush is how long results wait for others before they are written; default 20ms. A few
	// results wait longer, up to 80ms.
	Flush time.Duration
	// Tick is how often an idle number looks for segments and deferred deliveries; default 250ms.
	// Busy numbers, and the list of runs, are looked at every 4 x Tick.
	Tick time.Duration
	// Request is the time-out of a POST; default 10s.
	Request time.Duration
	// Expiry is the time by which not_after and the window of a doubt are over; default: this
	// machine's clock. While it is not known, no row expires and no doubt ends; intents after
	// not_after are refused all the same.
	Expiry clock.Source
	// MaxInFlight is the most posts under way at once over a connection; default 512. The limit is
	// lower while answers come quickly (mostUnanswered).
	MaxInFlight int
	// Backoff is the first wait after a refusal that may be retried; default 5s.
	Backoff time.Duration
	// Pace is the rate of a connection in messages per second; default 72, for tests. The daemon
	// gives that of docs/limits.md#pace. 0: it or the tier is not known, and nothing is sent.
	Pace func(connection string) float64
	// Limit is the limit of a connection with the parts of Pace, from which its number learns how
	// much of the limit has to be kept back (docs/limits.md#a-pace-that-learns). The limiter must
	// be a throttle.Sharer. nil: the number keeps the pace of Pace.
	Limit func(connection string) throughput.Pace
	// Origin is what holds can name of a connection: API key, company, account and portfolio; the
	// sender adds the rest. Default: an account with the id of the connection, and nothing else.
	Origin func(connection string) campaign.Origin
	// Quotas returns the quotas of a connection now, which Counter counts. It is called for each
	// group. nil: there are no quotas.
	Quotas func(connection string, now time.Time) []Quota
	// Counter leases the units of the quotas. It is required with Quotas.
	Counter throttle.Counter
	// Spent asks the ledger how many units of a quota's period are used. It is required with
	// Quotas.
	Spent func(ctx context.Context, q throttle.Quota) (int64, error)
	// PlanEnds is the end of the hold that begins when the service says that the allowance of the
	// connection's plan is used up; nil: the hold lasts an hour.
	PlanEnds func(connection string, now time.Time) time.Time
	// Tier is how many people the portfolio of a connection may reach in 24 hours (campaign.Tier).
	// It is asked before each intent, so it may change. Default: no limit.
	Tier func(connection string) campaign.Tier
	// Jitter may change a wait. Simulations use it so that no two timers share an instant
	// (docs/protocol.md#simulation). Default: as given.
	Jitter func(purpose string, d time.Duration) time.Duration
	// Wire notes each attempt before its request is written; nil: nobody knows afterwards what a
	// killed process had posted.
	Wire Wire
	// Mark returns the mark of an attempt, which its statuses bring back; nil: messages have none.
	Mark func(campaign.Post) string
	// Repeats are the waits between the service's tries to deliver a webhook; default
	// reception.ServiceRepeats.
	Repeats reception.Repeats
	// Log gets the incidents; default: they are not logged.
	Log *slog.Logger
}

// Wire is the log of what this process posts (docs/protocol.md#wire-log). Its methods are safe for
// concurrent use.
type Wire interface {
	// Note writes an attempt, and returns its entry. After an error the attempt may not be posted.
	Note(p campaign.Post, epoch int64) (entry int, err error)
	// Unposted removes the entry of an attempt of which certainly nothing was written. It reports
	// false if the entry is still there.
	Unposted(entry int) bool
	// Recorded says that the result of the attempt in an entry is durable.
	Recorded(entry int)
}

func (o Options) withDefaults() (Options, error) {
	if o.Owner == "" {
		return o, errors.New("sender: Options.Owner is required")
	}
	if o.Quotas != nil && (o.Counter == nil || o.Spent == nil) {
		return o, errors.New("sender: Options.Quotas needs Counter and Spent")
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Lease, 15*time.Second)
	def(&o.Group, 50*time.Millisecond)
	def(&o.Flush, 20*time.Millisecond)
	def(&o.Tick, 250*time.Millisecond)
	def(&o.Request, 10*time.Second)
	def(&o.Backoff, 5*time.Second)
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 512
	}
	if o.Pace == nil {
		o.Pace = func(string) float64 { return 72 }
	}
	if o.Origin == nil {
		o.Origin = func(c string) campaign.Origin { return campaign.Origin{Account: c} }
	}
	if o.Tier == nil {
		o.Tier = func(string) campaign.Tier { return campaign.Tier{} }
	}
	if o.Jitter == nil {
		o.Jitter = func(_ string, d time.Duration) time.Duration { return d }
	}
	if o.Repeats == nil {
		o.Repeats = reception.ServiceRepeats()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Held == nil {
		o.Held = func(context.Context, []campaign.Hold) {}
	}
	if o.Ended == nil {
		o.Ended = func(_ context.Context, r campaign.Run) { o.Log.Info("run ended", "run", r.ID(), "state", r.State) }
	}
	return o, nil
}
