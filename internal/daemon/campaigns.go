package daemon

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/operator"
	"campaignd/internal/schedule"
)

// newScheduler makes the scheduler of this process.
func (d *Daemon) newScheduler() *schedule.Scheduler {
	return schedule.New(schedule.Options{Config: d.cfg, Ledger: d.ledger, Service: d.client, Owner: d.owner, Log: d.log, Apart: d.clock.Apart,
		Check: func(ctx context.Context, file string) func(*launch.Preflight) {
			return d.checkLaunch(ctx, file, byFiring, nil)
		},
		Audiences: d.audiences})
}

// checkFile checks a campaign and a list; "" is the campaign's own. The service's answers may be a
// minute old.
func (d *Daemon) checkFile(ctx context.Context, f operator.File, list string) (_ *launch.Preflight, err error) {
	var offer *launch.Offer
	if list == "" && f.Definition.Audience != nil {
		made, err := d.audiences.Make(ctx, f.Definition, nil)
		if err != nil {
			return nil, err
		}
		defer func() {
			if left := made.Remove(); left != nil {
				d.log.Warn("the list of an audience was not removed", "err", left)
			}
		}()
		list, offer = made.Path, made.Offer()
	}
	in := launch.PreflightInput{Definition: f.Definition, Source: f.Source, File: f.Path, Examples: manyExamples,
		Rate: d.cfg.Rate, Tier: d.cfg.Tier, Company: d.cfg.Company, OptOut: d.cfg.OptOut(), Commerce: d.cfg.Commerce.Configured(), Offer: offer,
		Suppressions: d.ledger, Reached: d.ledger, List: cmp.Or(list, file.Beside(f.Path, f.Definition.Recipients.File))}
	if in.List == "" {
		return nil, &file.Error{Findings: []file.Finding{{Level: file.LevelError,
			Where: filepath.Base(f.Path), What: "the campaign names no list", Remedy: "set recipients.file, or launch it with a list"}}}
	}
	if d.asked != nil {
		in.Service = d.asked
	}
	found, err := CheckCampaign(ctx, d.cfg, d.ledger, d.quotas, in)
	if err != nil {
		return nil, err
	}
	found.Findings = schedule.WithoutFolder(d.cfg.Campaigns, found.Findings)
	found.List = filepath.Base(found.List)
	return found, nil
}

// manyExamples is the number of rows that a check lists for each reason.
const manyExamples = 1000

// forecastFile forecasts a campaign whose list was checked, as if it were launched now.
func (d *Daemon) forecastFile(ctx context.Context, f operator.File, found *launch.Preflight) (plan.Forecast, error) {
	out, err := ForecastLaunch(ctx, d.cfg, d.ledger, d.quotas, f.Definition, found, time.Now())
	if err != nil {
		err = fmt.Errorf("forecast %s: %w", filepath.Base(f.Path), err)
	}
	return out, err
}
