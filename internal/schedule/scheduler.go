// Package schedule starts and continues runs without a person: the firings of the campaigns folder,
// interrupted imports, uploads of header files that expire, follow-ups and the policies of runs.
//
// internal/daemon runs it beside the engine; the doctor and the API read the folder through it. It
// promises that each firing has one outcome, over all replicas and restarts: a firing is a record
// of the ledger, and its run has a key that the ledger accepts once.
package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/audience"
	"campaignd/internal/config"
	"campaignd/internal/faults"
	"campaignd/internal/messaging"
)

// Options are what a Scheduler works with. Config, Ledger, Owner and Log are required; a process
// that launches also gives Service and Check.
type Options struct {
	Config  *config.Config
	Ledger  campaign.Ledger
	Service messaging.Service
	Owner   string // names the process in leases
	Log     *slog.Logger
	// Apart is how far this machine's clock is known to be wrong (clock.Reference); nil: it is not
	// known.
	Apart func() time.Duration
	// Check returns what the firing of a campaign file does with its preflight: it logs the
	// warnings.
	Check func(ctx context.Context, file string) func(*launch.Preflight)
	// Audiences makes the lists of audiences; nil: no campaign has one.
	Audiences *audience.Lists
}

// Scheduler launches and continues runs without a person, and keeps their policies. Make it with
// New. Its methods are safe for concurrent use, and those with an engine block until ctx ends.
type Scheduler struct {
	o       Options
	fired   firingCounts
	failing faults.Known // of firings, by campaign

	mu sync.Mutex
	// ahead is the time to come at which a quarantine is recorded, aheadSeen when that was seen
	// first.
	ahead, aheadSeen time.Time
	good             []Scheduled // the campaigns that Run fires
}

// New makes a scheduler, which does nothing by itself.
func New(o Options) *Scheduler { return &Scheduler{o: o} }

// Fired returns how many firings this process recorded with a final outcome.
func (sc *Scheduler) Fired(o campaign.FiringOutcome) int64 { return sc.fired.of(o) }

// job returns the job name, which one replica at a time does, with this process as its owner.
func (sc *Scheduler) job(name string) campaign.Job {
	return campaign.Job{Ledger: sc.o.Ledger, Name: name, Owner: sc.o.Owner, Lease: time.Duration(sc.o.Config.Sending.Lease)}
}
