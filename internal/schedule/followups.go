package schedule

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
)

const (
	// followUpEvery is how often ended runs are looked at; their times are hours.
	followUpEvery = time.Minute
	// followUpRuns is how many runs are looked at, the newest: a ledger keeps runs for ever.
	followUpRuns = 1000
	// followUpAgain is how long after a try a follow-up is tried again that chose nobody or had to
	// wait: a try reads all rows of the parent.
	followUpAgain = 15 * time.Minute
	// followUpLost is how long the log says nothing more of a follow-up that the ledger may have lost.
	// No follow-up begins so late.
	followUpLost = 8 * 24 * time.Hour
)

// followUps starts the follow-up runs that policies.follow_up wants. The lease of a job lets one
// replica do so. The ledger lets no recipient into two follow-ups of one run
// (docs/protocol.md#follow-ups), so doing it twice adds nobody.
func (c *policies) followUps(ctx context.Context) error {
	now := time.Now()
	if c.only != 0 || now.Before(c.followAt) {
		return nil
	}
	err := c.sc.job("follow-ups").Do(ctx, c.followEach)
	if err != nil && !errors.Is(err, campaign.ErrTaken) {
		return err // it is tried again at the next look
	}
	c.followAt = now.Add(followUpEvery)
	return nil
}

func (c *policies) followEach(ctx context.Context) error {
	all, err := c.sc.o.Ledger.Runs(ctx, campaign.RunFilter{Limit: followUpRuns})
	if err != nil {
		return err
	}
	runs := make(map[campaign.RunNo]campaign.Run, len(all))
	for _, r := range all {
		runs[r.No] = r
	}
	lost, err := c.sc.o.Ledger.LostTimes(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, run := range all {
		if run.State != campaign.Finished || now.Before(c.again[run.No]) {
			continue
		}
		def := c.definition(run)
		if def == nil || !launch.FollowUpDue(run, def, runs, now) {
			continue
		}
		c.again[run.No] = now.Add(followUpAgain)
		if launch.FollowUpLost(run, def.Policies.FollowUp, lost) {
			c.sc.o.Log.Warn("no follow-up run is made: the ledger went back in time and may have lost the one that was sent; "+
				"`campaignd follow-up` makes one", "of", run.ID())
			c.again[run.No] = now.Add(followUpLost)
			continue
		}
		followed, started, why, err := launch.StartAutoFollowUp(ctx, c.sc.o.Ledger, run, def.Policies.FollowUp, c.sc.o.Owner,
			c.sc.o.Config.SentBefore.Within.Std())
		c.note(ctx, run.ID()+", its follow-up", err) // the other runs are followed up all the same
		switch {
		case err != nil:
		case started:
			c.sc.o.Log.Info("follow-up run started", "run", followed.Run.ID(), "of", run.ID(), "rows", followed.Chosen, "state", followed.Run.State)
			if s := followed.SentBefore; s.Any() {
				c.sc.o.Log.Warn(sentAgain, "run", followed.Run.ID(), "detail", s.String(), "left_out", followed.Run.LeaveOut)
			}
			c.engine.Poke()
		default:
			c.sc.o.Log.Debug("no follow-up run yet", "of", run.ID(), "why", why)
		}
	}
	return ctx.Err()
}

// sentAgain warns of a run whose people got its template before.
const sentAgain = "people of the run got its template before"

// resumeFollowUp finishes the import of a follow-up run whose process died.
func (sc *Scheduler) resumeFollowUp(ctx context.Context, r campaign.Run, e *sender.Engine) error {
	followed, err := launch.ResumeFollowUp(ctx, sc.o.Ledger, r, sc.o.Owner)
	if err == nil && !followed.Existed { // else another process has finished it since the runs were read
		sc.o.Log.Info("interrupted import finished", "run", r.ID(), "rows", followed.Chosen)
		e.Poke()
	}
	return err
}
