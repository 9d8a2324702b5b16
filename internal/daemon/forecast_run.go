package daemon

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/client"
)

// ForecastRun forecasts a run of the ledger from where it is.
func ForecastRun(ctx context.Context, l campaign.Ledger, cfg *Config, run campaign.Run) (client.Forecast, error) {
	return forecastRun(ctx, l, cfg, nil, run)
}

func forecastRun(
	ctx context.Context, l campaign.Ledger, cfg *Config, known *directory, run campaign.Run,
) (f client.Forecast, err error) {
	if run.State.Ended() || run.State == campaign.Importing {
		f.Note = fmt.Sprintf("it is %s", run.State)
		f.Run, f.LimitedBy, f.DeadlineHolds = run.ID(), "none", true
		f.Hours, f.Numbers, f.RunsOut, f.Helps = []plan.Hour{}, []plan.NumberShare{}, []plan.RunsOut{}, []plan.Help{}
		return f, nil
	}
	o, err := newOutlook(ctx, l, cfg, known, time.Now().UTC())
	if err != nil {
		return f, err
	}
	i, err := o.AddRun(ctx, l, run)
	if err != nil {
		return f, err
	}
	if f.Forecast, err = o.foresee(ctx, cfg, i); err != nil {
		return f, err
	}
	f.Assumed, f.Unread = o.Assumed, o.Unread
	switch {
	case run.State == campaign.WaitingApproval:
		f.Note = "as if it were approved now"
	case run.State == campaign.Paused || run.Wanted == campaign.WantPause:
		f.Note = "as if it were resumed now"
	}
	return f, nil
}
