package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
	"campaignd/internal/faults"
)

// policiesEvery is how often the policies of the runs are checked for work other than sending.
const policiesEvery = 5 * time.Second

// policies does what the policies of runs ask for beside sending.
type policies struct {
	sc       *Scheduler
	engine   *sender.Engine
	only     campaign.RunNo                      // 0: every run
	defs     map[campaign.RunNo]*file.Definition // at most mostDefs; nil: this version cannot read it
	failing  bool                                // the runs cannot be read
	faults   faults.Known                        // of single runs
	followAt time.Time                           // when ended runs are looked at next
	again    map[campaign.RunNo]time.Time        // when a follow-up is tried again
	optOuts  map[campaign.RunNo]optOuts
	fails    map[campaign.RunNo]failing
	failsOf  map[string]map[campaign.RunNo]launch.Finals // by template: of each run, since the last verdict
}

// KeepPolicies keeps the policies of every unfinished run, or of the run only, until ctx ends.
// Leases of jobs let one replica act at a time.
func (sc *Scheduler) KeepPolicies(ctx context.Context, e *sender.Engine, only campaign.RunNo) {
	c := newPolicies(sc, e, only)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(policiesEvery):
		}
		err := c.look(ctx)
		if failing := err != nil && !errors.Is(err, campaign.ErrUnwritable); failing != c.failing && ctx.Err() == nil {
			if c.failing = failing; failing {
				sc.o.Log.Error("the policies of runs cannot be applied; they are tried again", "err", err)
			} else {
				sc.o.Log.Info("the policies of runs are applied again")
			}
		}
	}
}

func newPolicies(sc *Scheduler, e *sender.Engine, only campaign.RunNo) *policies {
	return &policies{sc: sc, engine: e, only: only, defs: map[campaign.RunNo]*file.Definition{},
		again: map[campaign.RunNo]time.Time{}, optOuts: map[campaign.RunNo]optOuts{},
		fails: map[campaign.RunNo]failing{}, failsOf: map[string]map[campaign.RunNo]launch.Finals{}}
}

// look applies the policies once. A fault of one run is logged, and the other runs go on.
func (c *policies) look(ctx context.Context) error {
	runs, err := c.sc.o.Ledger.Runs(ctx, campaign.RunFilter{EndedAfter: time.Now().Add(-failingEnded)})
	if err != nil {
		return err
	}
	c.forgetFailing(runs)
	for _, run := range runs {
		if c.only != 0 && run.No != c.only {
			continue
		}
		if run.State.Ended() {
			c.note(ctx, run.ID(), c.failed(ctx, run))
			continue
		}
		def := c.definition(run)
		if def == nil {
			continue
		}
		c.note(ctx, run.ID(), errors.Join(c.canary(ctx, run, def), c.optedOut(ctx, run, def), c.failed(ctx, run)))
	}
	return c.followUps(ctx)
}

// note logs a fault of the policies of a run once until its words change, and its end.
func (c *policies) note(ctx context.Context, run string, err error) {
	switch {
	case ctx.Err() != nil, errors.Is(err, campaign.ErrUnwritable): // the ledger logs that itself
	case err == nil:
		if times := c.faults.Succeeded(run); times > 0 {
			c.sc.o.Log.Info("the policies of a run are applied again", "run", run, "failures", times)
		}
	default:
		if changed, before := c.faults.Failed(run, faults.Words(err)); changed {
			c.sc.o.Log.Error("the policies of a run cannot be applied; they are tried again",
				faults.Counting(before, "run", run, "err", err)...)
		}
	}
}

// mostDefs limits the definitions in memory: one check needs those of the unfinished runs and of
// followUpRuns others.
const mostDefs = 2 * followUpRuns

// definition reads the campaign of a run once, and again after mostDefs others.
func (c *policies) definition(run campaign.Run) *file.Definition {
	def, met := c.defs[run.No]
	if !met {
		if len(c.defs) >= mostDefs {
			clear(c.defs)
		}
		def, _ = file.ParseStored(run.ID(), run.Definition) // the engine says what is wrong with it
		c.defs[run.No] = def
	}
	return def
}

func (c *policies) canary(ctx context.Context, run campaign.Run, def *file.Definition) error {
	v, err := launch.CheckCanary(ctx, c.sc.o.Ledger, run, def.Policies.Canary, c.sc.o.Owner)
	switch {
	case err != nil:
		return err
	case v.Released:
		c.sc.o.Log.Info("the rest of the list is sent after its canary", "run", run.ID(), "verdict", v.Sentence, "rows", v.Waiting)
		c.engine.Poke()
	case v.Paused:
		c.sc.o.Log.Warn("run paused", "run", run.ID(), "reason", campaign.PausedByCanary, "detail", v.Sentence)
		c.engine.Poke()
	}
	return nil
}

// optOuts is what is known of the opt-outs of a run.
type optOuts struct {
	delivered int64     // messages delivered at the last count
	next      time.Time // no check before this time, because a check reads the whole run
}

// optOutsEvery is the time between two checks of the opt-outs of a run, while all runs together
// have enough opt-outs to trip its breaker.
const optOutsEvery = 30 * time.Second

func (c *policies) optedOut(ctx context.Context, run campaign.Run, def *file.Definition) error {
	seen := c.optOuts[run.No]
	if time.Now().Before(seen.next) {
		return nil
	}
	v, err := launch.CheckOptOuts(ctx, c.sc.o.Ledger, run, def.Policies.MaxOptOuts, seen.delivered, c.sc.o.Owner)
	if v.Counted {
		c.optOuts[run.No] = optOuts{delivered: v.Delivered, next: time.Now().Add(optOutsEvery)}
	}
	if v.Paused {
		c.sc.o.Log.Warn("run paused", "run", run.ID(), "reason", campaign.PausedByBreaker, "detail", v.Sentence)
		c.engine.Poke()
	}
	if err != nil {
		return fmt.Errorf("check the opt-outs of %s: %w", run.ID(), err)
	}
	return nil
}
