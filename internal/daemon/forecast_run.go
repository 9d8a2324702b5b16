package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
)

// ForecastRun forecasts a run of the ledger from where it is. known is what a process that serves
// knows of its numbers and plans; nil asks.
func ForecastRun(
	ctx context.Context, l campaign.Ledger, cfg *config.Config, known *numbers.Quotas, run campaign.Run,
) (f plan.Forecast, err error) {
	if run.State.Ended() || run.State == campaign.Importing {
		f.Note = fmt.Sprintf("it is %s", run.State)
		f.Run, f.LimitedBy, f.DeadlineHolds = run.ID(), campaign.ByNone, true
		f.Hours, f.Numbers, f.RunsOut, f.Helps = []plan.Hour{}, []plan.NumberShare{}, []plan.RunsOut{}, []plan.Help{}
		return f, nil
	}
	o, err := newOutlook(ctx, l, cfg, known, time.Now().UTC())
	if err != nil {
		return f, err
	}
	i, err := o.addRun(ctx, l, run)
	if err != nil {
		return f, err
	}
	if f, err = o.foresee(ctx, cfg, i); err != nil {
		return f, err
	}
	numbers := o.Runs[i].Numbers
	for i := range f.Numbers {
		f.Numbers[i].Pace = o.paces[f.Numbers[i].Connection]
	}
	f.Assumed = slices.DeleteFunc(o.Assumed, func(id string) bool { return !slices.Contains(numbers, id) })
	f.Unread = o.Unread
	switch {
	case run.State == campaign.WaitingApproval:
		f.Note = "as if it were approved now"
	case run.State == campaign.Paused || run.Wanted == campaign.WantPause:
		f.Note = "as if it were resumed now"
	default:
		f.Note = o.endingHold(run, numbers)
	}
	return f, nil
}

// endingHold says that the hold on a run, or else on one of its numbers, is assumed to end at its
// time, although the test at that time may fail; "": there is none, or it has no end.
func (o *Outlook) endingHold(run campaign.Run, numbers []string) string {
	h, held := why.Held(run, o.holds, o.directory.Origin, o.Now)
	for _, id := range numbers {
		if !held {
			h, held = campaign.HeldBy(o.holds, o.directory.Origin(id), o.Now)
		}
	}
	if !held || h.Until.IsZero() {
		return ""
	}
	return fmt.Sprintf("as if the hold on %s %s (%s) ended at %s", h.Scope, h.ID, h.Reason, h.Until.UTC().Format(time.RFC3339))
}
