package daemon

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/price"
	"campaignd/internal/config"
)

// estimate says what the sendable rows of a checked list cost if they are sent now. l may be nil:
// then no earlier run is known.
func estimate(ctx context.Context, c *config.Config, l campaign.Ledger, def *file.Definition, p *launch.Preflight, now time.Time) error {
	rates, err := c.Rates()
	if err != nil || rates == nil {
		return err
	}
	past, err := pastOf(ctx, l, def)
	if err != nil {
		return err
	}
	rows := map[string]int64{}
	for _, of := range p.Countries {
		rows[of.Country] = of.Rows
	}
	p.Cost = rates.Estimate(rows, p.Category, now, past)
	return nil
}

// pastOf counts the last finished runs of the template, else of the campaign; nil: there is none.
func pastOf(ctx context.Context, l campaign.Ledger, def *file.Definition) (*price.Past, error) {
	if l == nil {
		return nil, nil
	}
	for _, like := range []struct {
		of     string
		filter campaign.RunFilter
	}{
		{"template " + def.Template.Name, campaign.RunFilter{Template: def.Template.Name, Limit: 3 * remembered}},
		{"campaign " + def.Name, campaign.RunFilter{Campaign: def.Name, Limit: 3 * remembered}},
	} {
		runs, err := l.Runs(ctx, like.filter)
		if err != nil {
			return nil, fmt.Errorf("read the runs of %s: %w", like.of, err)
		}
		past := &price.Past{Of: like.of}
		for _, run := range runs {
			if run.State != campaign.Finished || past.Runs == remembered {
				continue
			}
			tallies, funnel, err := l.Tallies(ctx, run.No)
			if err != nil {
				return nil, fmt.Errorf("count %s: %w", run.ID(), err)
			}
			var rows int64
			for _, t := range tallies {
				if t.Status != campaign.Skipped {
					rows += t.N
				}
			}
			if funnel.Delivered > 0 { // of one without any delivery, no event arrived
				past.Runs, past.Messages, past.Delivered = past.Runs+1, past.Messages+rows, past.Delivered+funnel.Delivered
			}
		}
		if past.Runs > 0 {
			return past, nil
		}
	}
	return nil, nil
}
