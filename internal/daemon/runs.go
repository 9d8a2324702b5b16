package daemon

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/schedule"
)

// startLines is the most runs and campaigns that the log names one by one at the start.
const startLines = 20

// takeOver logs the work that a process finds when it begins to serve: the unfinished runs with
// what they wait for, and the campaigns of the folder with their next firings. holdWatch logs the
// holds.
func (d *Daemon) takeOver(ctx context.Context) {
	runs, err := d.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		d.log.Error("the unfinished runs cannot be read", "err", err)
		return
	}
	states := map[campaign.State]int{}
	for i, r := range runs {
		states[r.State]++
		if i >= startLines {
			continue
		}
		line := []any{"run", r.ID(), "state", r.State, "rows", r.Rows}
		if r.Reason != "" {
			line = append(line, "reason", r.Reason)
		}
		if r.Detail != "" {
			line = append(line, "detail", r.Detail)
		}
		if r.Wanted != campaign.WantRun {
			line = append(line, "wanted", r.Wanted)
		}
		d.log.Info("unfinished run", line...)
	}
	if d.cfg.Role == config.RoleIntake {
		return
	}
	all, _ := schedule.Read(d.cfg.Campaigns) // the schedule logs the faults
	for i, s := range all {
		if i < startLines {
			d.log.Info("campaign loaded", "campaign", s.Definition.Name, "schedule", s.Cron.String(), "next", s.NextLogged())
		}
	}
	d.log.Info("taken over", "unfinished", len(runs), "running", states[campaign.Ready]+states[campaign.Running],
		"paused", states[campaign.Paused], "campaigns", len(all))
}

// ended logs the end of a run with its totals.
func (d *Daemon) ended(ctx context.Context, r campaign.Run) {
	line := []any{"run", r.ID(), "state", r.State, "rows", r.Rows}
	tallies, _, err := d.ledger.Tallies(ctx, r.No)
	if err != nil {
		line = append(line, "err", err)
	}
	totals := map[campaign.Status]int64{}
	for _, t := range tallies {
		totals[t.Status] += t.N
	}
	for _, s := range campaign.Statuses {
		if totals[s] > 0 {
			line = append(line, string(s), totals[s])
		}
	}
	d.log.Info("run ended", line...)
}

var (
	descRuns  = gauge("campaignd_runs", "Unfinished runs of the ledger.", "state")
	descAsset = gauge("campaignd_asset_expiry_timestamp_seconds",
		"Unix time until which the service keeps the header files of the unfinished runs, the earliest of them.")
)

// runMetrics counts the unfinished runs of the ledger. While it does not answer there is no value.
func runMetrics(l campaign.RunLedger) collector {
	return func(put emit) {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
		if err != nil {
			return
		}
		states := map[campaign.State]int{}
		for _, s := range []campaign.State{campaign.Importing, campaign.WaitingApproval, campaign.Ready, campaign.Running, campaign.Paused} {
			states[s] = 0
		}
		var until time.Time
		for _, r := range runs {
			states[r.State]++
			if !r.AssetUntil.IsZero() && (until.IsZero() || r.AssetUntil.Before(until)) {
				until = r.AssetUntil
			}
		}
		if !until.IsZero() {
			put(descAsset, float64(until.Unix()))
		}
		for s, n := range states {
			put(descRuns, float64(n), string(s))
		}
	}
}
