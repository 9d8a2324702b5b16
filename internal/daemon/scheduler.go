package daemon

import (
	"context"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/faults"
)

// SchedulerOptions are what a Scheduler works with. Config, Ledger, Owner and Log are required; a process
// that launches also gives Service and Check.
type SchedulerOptions struct {
	Config  *config.Config
	Ledger  campaign.Ledger
	Service campaign.Service
	Owner   string // names the process in leases
	Log     *slog.Logger
	// Check returns what a launch of a campaign file does with its preflight: it passes it to then, or
	// logs the warnings if then is nil.
	Check func(ctx context.Context, file string, then func(*campaign.Preflight)) func(*campaign.Preflight)
}

// Scheduler launches and continues runs without a person, and keeps their policies. Make it with
// New. Its methods are safe for concurrent use, and those with an engine block until ctx ends.
type Scheduler struct {
	o       SchedulerOptions
	fired   firingCounts
	failing faults.Known // of firings, by campaign
}

// NewScheduler makes a scheduler, which does nothing by itself.
func NewScheduler(o SchedulerOptions) *Scheduler { return &Scheduler{o: o} }

// Fired returns how many firings this process recorded with a final outcome.
func (sc *Scheduler) Fired(o campaign.FiringOutcome) int64 { return sc.fired.of(o) }

// job returns the job name, which one replica at a time does, with this process as its owner.
func (sc *Scheduler) job(name string) campaign.Job {
	return campaign.Job{Ledger: sc.o.Ledger, Name: name, Owner: sc.o.Owner, Lease: time.Duration(sc.o.Config.Sending.Lease)}
}
