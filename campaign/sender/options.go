package sender

import (
	"errors"
	"log/slog"
	"time"

	"campaignd/campaign"
)

// Options tune an Engine. The zero value of each field means its default.
type Options struct {
	Owner       string         // names this process in leases; default: required
	Only        campaign.RunNo // serve this run alone; 0: every run
	Lease       time.Duration  // of a segment; default 15s: request 10s + results 2s + margin
	Group       time.Duration  // a number has up to two groups outstanding, each of this much sending, more over a ledger with slow commits; default 50ms (reliability.md 0.5)
	GroupMax    int            // most deliveries in a group, and in one intent of a number; default 256
	Flush       time.Duration  // results wait this long for company, a few of them up to four times that; default 20ms
	FlushMax    int            // results in one transaction; default 256
	Tick        time.Duration  // how often a number looks for segments and deferred deliveries; every fourth time where it has enough to do, and the runs; default 250ms
	Request     time.Duration  // longest POST; default 10s
	MaxInFlight int            // posts at once per connection; default 512
	Backoff     time.Duration  // first wait after a refusal that may be retried; default 5s
	// Pace is the rate of a connection in messages per second; default 72 (80/s STANDARD
	// at f = 0.90, design section 6).
	Pace func(connection string) float64
	// Jitter may change a wait; simulations use it so that no two timers share an
	// instant (reliability.md 4.2). Default: as given.
	Jitter func(purpose string, d time.Duration) time.Duration
	Log    *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Owner == "" {
		return o, errors.New("sender: Options.Owner is required")
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
	if o.GroupMax <= 0 {
		o.GroupMax = 256
	}
	if o.FlushMax <= 0 {
		o.FlushMax = 256
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 512
	}
	if o.Pace == nil {
		o.Pace = func(string) float64 { return 72 }
	}
	if o.Jitter == nil {
		o.Jitter = func(_ string, d time.Duration) time.Duration { return d }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
