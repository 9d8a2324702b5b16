package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
)

// lostList is the name of the list of a run that stands for a firing of the lost time.
const lostList = "(the firing of the lost time)"

// LostFiring is a firing that is due and of which the ledger has no run. It may have been launched
// in the lost time.
type LostFiring struct {
	Campaign string    `json:"campaign"`
	At       time.Time `json:"at"`
	// Run is the id of the cancelled run that stands for the firing. "" in a dry run.
	Run string `json:"run,omitempty"`
}

// CloseFirings keeps the schedule from launching again what it may have launched in the lost time:
// it makes a cancelled run without rows for each firing that is due. Firings of files that are
// broken or missing now are closed by the record of the quarantine (firings.quarantined). It comes
// before the quarantine of the ledger, so that a quarantine that died in between is repeated as a
// whole.
func (sc *Scheduler) CloseFirings(ctx context.Context, runs []campaign.Run, dry bool) (closed []LostFiring, err error) {
	l := sc.o.Ledger
	all, err := Read(sc.o.Config.Campaigns)
	if err != nil {
		sc.o.Log.Warn("a campaign file is not used; its firings until now count as missed", "err", err)
	}
	for _, r := range runs { // an earlier quarantine died before it cancelled this run
		if r.State != campaign.Importing || r.ListName != lostList {
			continue
		}
		if !dry {
			if err := closeFiring(ctx, l, r); err != nil {
				return closed, err
			}
		}
		closed = append(closed, LostFiring{Campaign: r.Campaign, At: r.CreatedAt.UTC(), Run: r.ID()})
	}
	for _, s := range all {
		firing, due, err := sc.Due(ctx, s, time.Now())
		if err != nil {
			return closed, err
		}
		known := slices.IndexFunc(runs, func(r campaign.Run) bool {
			return r.Campaign == s.Definition.Name && r.Launch == CronKey+firing.Key
		})
		if !due || known >= 0 {
			continue
		}
		lost := LostFiring{Campaign: s.Definition.Name, At: firing.At.UTC()}
		if !dry {
			run, err := l.CreateRun(ctx, campaign.Run{Campaign: lost.Campaign, Launch: CronKey + firing.Key, ListName: lostList,
				Template: s.Definition.Template.Name, Language: s.Definition.Template.Language})
			if err != nil {
				return closed, fmt.Errorf("close the firing of %s: %w", lost.Campaign, err)
			}
			if err := closeFiring(ctx, l, run); err != nil {
				return closed, err
			}
			lost.Run = run.ID()
		}
		closed = append(closed, lost)
	}
	if dry {
		return closed, nil
	}
	now := time.Now()
	_, err = l.NoteFiring(ctx, campaign.Firing{Key: "quarantined " + now.UTC().Format(time.RFC3339Nano), At: now, Since: now,
		Outcome: campaign.FiringAdded})
	if err != nil {
		return closed, fmt.Errorf("note the quarantine: %w", err)
	}
	return closed, nil
}

// closeFiring cancels the run without rows that stands for a firing.
func closeFiring(ctx context.Context, l campaign.Ledger, r campaign.Run) error {
	if _, err := l.SetState(ctx, r.No, []campaign.State{campaign.Importing}, campaign.Cancelled, "", lostDetail); err != nil {
		return fmt.Errorf("close the firing of %s: %w", r.Campaign, err)
	}
	return nil
}
