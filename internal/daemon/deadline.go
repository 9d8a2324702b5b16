package daemon

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
)

// CheckDeadline adds a warning to the preflight of a campaign whose deadline cannot be met if it is
// launched now, beside every unfinished run of the ledger. l may be nil: then no run is known.
func CheckDeadline(
	ctx context.Context, cfg *Config, l campaign.Ledger, def *campaign.Definition, p *campaign.Preflight, now time.Time,
) error {
	if def.Limits.Deadline == 0 || !p.OK() {
		return nil
	}
	o, err := NewOutlook(ctx, l, cfg, now.UTC())
	if err != nil {
		return err
	}
	r, err := plan.RunOf(campaign.Run{Campaign: def.Name, CreatedAt: o.Now, Marketing: p.Marketing, Budget: def.Limits.MaxMessages}, def, nil)
	if err != nil {
		return err
	}
	if r.Groups, err = plan.Blocks(def, p.Zones); err != nil {
		return err
	}
	i, err := o.Add(ctx, r)
	if err != nil {
		return err
	}
	f := o.Forecast(i)
	if f.DeadlineHolds {
		return nil
	}
	done := "it is not done within a year"
	if !f.Never {
		done = "it is done at about " + f.Finish.Format("2006-01-02 15:04 MST")
	}
	p.Findings = append(p.Findings, campaign.Finding{Level: campaign.LevelWarning, Where: "limits.deadline",
		What:   fmt.Sprintf("%s after the launch cannot be met: %s, limited by %s", def.Limits.Deadline, done, f.LimitedBy),
		Remedy: "`campaignd forecast` says what would help"})
	return nil
}

// checkLaunch is Launch.Checked of this process: it warns of a deadline that cannot be met, among
// what then gets, or in the log without then.
func (d *Daemon) checkLaunch(ctx context.Context, file string, then func(*campaign.Preflight)) func(*campaign.Preflight) {
	return func(p *campaign.Preflight) {
		known := len(p.Findings)
		def, _, err := campaign.LoadDefinition(file)
		if err == nil {
			err = CheckDeadline(ctx, d.cfg, d.ledger, def, p, time.Now())
		}
		if err != nil { // a warning less; the launch itself says what is wrong
			d.log.Debug("deadline not checked", "campaign", file, "err", err)
		}
		if then != nil {
			then(p)
			return
		}
		for _, f := range p.Findings[known:] {
			d.log.Warn("deadline cannot be met", "campaign", file, "detail", f.What)
		}
	}
}
