package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
	"campaignd/internal/schedule"
)

// mostFirings is how many firings of one campaign a forecast adds at most.
const mostFirings = 10

// foresee forecasts a run beside the scheduled firings that may compete with it: those of the
// campaigns folder, within twice the time that the run takes without them. Each firing sends the
// list as it is now. A firing of the same campaign is left out, because it does not overlap the
// run.
func (o *Outlook) foresee(ctx context.Context, cfg *config.Config, run int) (plan.Forecast, error) {
	f := o.Forecast(run)
	until := o.Now.AddDate(0, 1, 0)
	if twice := f.Finish.Add(f.Finish.Sub(o.Now)); !f.Never && twice.Before(until) {
		until = twice
	}
	all, _ := schedule.Read(cfg.Campaigns) // a broken file fires nothing, and `check` says so
	known := len(o.Runs)
	for _, s := range all {
		own := s.Definition.Name == o.Runs[run].Campaign
		if own || !slices.ContainsFunc(s.Definition.Connections, func(c string) bool { return slices.Contains(o.Runs[run].Numbers, c) }) {
			continue
		}
		if err := o.addFirings(ctx, s, until); err != nil {
			return f, err
		}
	}
	if len(o.Runs) == known {
		return f, nil
	}
	return o.Forecast(run), nil
}

// addFirings adds the firings of a campaign until a time. A list that cannot be launched is left
// out, and an audience, whose list is not made before.
func (o *Outlook) addFirings(ctx context.Context, s schedule.Scheduled, until time.Time) error {
	if s.Definition.Audience != nil {
		return nil
	}
	var list *launch.Preflight
	at := s.Next(o.Now).At
	for n := 0; n < mostFirings && !at.IsZero() && at.Before(until); n++ {
		if list == nil {
			p, err := launch.RunPreflight(ctx, launch.PreflightInput{Definition: s.Definition, File: s.File, List: s.List(),
				Suppressions: o.suppressions, Commerce: true}) // a launch refuses what needs one that is missing
			if err != nil {
				return fmt.Errorf("the list of %s: %w", s.Definition.Name, err)
			}
			if !p.OK() {
				return nil
			}
			list = p
		}
		r, err := launched(s.Definition, list, at)
		if err != nil {
			return fmt.Errorf("%s: %w", s.File, err)
		}
		r.ID, r.From = fmt.Sprintf("%s at %s", r.ID, at.UTC().Format(time.RFC3339)), at
		if _, err := o.add(ctx, r); err != nil {
			return err
		}
		at = s.Next(at).At
	}
	return nil
}

// launched is a campaign whose list was checked as if it were launched at a time.
func launched(def *file.Definition, p *launch.Preflight, at time.Time) (r plan.Run, err error) {
	as := campaign.Run{Campaign: def.Name, CreatedAt: at, Marketing: p.Marketing, Budget: def.Limits.MaxMessages}
	if r, err = plan.RunOf(as, def, nil); err != nil {
		return r, err
	}
	r.ID = def.Name
	r.Groups, err = plan.Blocks(def, p.Zones)
	return r, err
}
