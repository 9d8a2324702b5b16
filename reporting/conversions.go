package reporting

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/file"
)

// convert adds the orders that the run brought, if its campaign counts them, and the lift, if it
// held people out. segments are the segments of the run.
func (r *Report) convert(ctx context.Context, l campaign.ReportLedger, run campaign.Run, segments []campaign.SegmentState) error {
	how, counts := file.CountingOf(run)
	if !counts {
		return nil
	}
	heldOut := r.Skipped[string(campaign.HeldOut)]
	var ended campaign.Run
	if heldOut > 0 {
		var err error
		if ended, err = comparisonEnded(ctx, l, run); err != nil {
			return err
		}
	}
	tally, err := l.CountPurchases(ctx, conversion.Tally{Run: int64(run.No), Rule: how.Rule, Start: run.StartedAt, End: run.EndedAt,
		Until: ended.StartedAt})
	if err != nil {
		return fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	c := tally.Conversions()
	r.Conversions = &c
	if heldOut == 0 {
		return nil
	}
	treated := int64(0)
	for _, s := range segments {
		if !s.Closed {
			treated += s.Hi - s.Lo
		}
	}
	lift := tally.Lift(treated, heldOut)
	if !run.EndedAt.IsZero() {
		lift.Until = run.EndedAt.Add(how.Rule.Within).UTC()
	}
	if ended.No != 0 {
		lift.Until, lift.EndedBy = ended.StartedAt.UTC(), ended.ID()
	}
	r.Lift = &lift
	return nil
}

// comparisonEnded returns the first follow-up run that began to send to the people whom run held
// out while their purchases were compared; none has the number 0.
func comparisonEnded(ctx context.Context, l campaign.ReportLedger, run campaign.Run) (first campaign.Run, err error) {
	runs, err := l.Runs(ctx, campaign.RunFilter{Campaign: run.Campaign})
	if err != nil {
		return first, fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	choice := string(campaign.Skipped) + "=" + string(campaign.HeldOut)
	for _, r := range runs {
		if r.Parent == run.No && r.Selects(choice) && !r.StartedAt.IsZero() && r.StartedAt.Before(file.ComparedUntil(run)) &&
			(first.No == 0 || r.StartedAt.Before(first.StartedAt)) {
			first = r
		}
	}
	return first, nil
}

// conversions writes what the campaign brought.
func (p page) conversions(r *Report) {
	c := r.Conversions
	if c == nil {
		return
	}
	lines := []entry{
		{"orders", count(c.Orders), "attributed to the last message before them"},
		{"people", count(c.People), "who placed them"},
	}
	if c.Reversed > 0 {
		lines = append(lines, entry{"reversed", count(c.Reversed), "ended after they had counted, and count no longer"})
	}
	for _, sum := range c.Revenue {
		lines = append(lines, entry{"revenue", sum.Amount.String(), sum.Currency})
	}
	if c.Unread > 0 {
		what := "of the platform that cannot be read, and may be missing above"
		if c.UnreadID != "" {
			what += ", such as " + c.UnreadID
		}
		lines = append(lines, entry{"unread", count(c.Unread), what})
	}
	p.block("conversions", lines)
	if l := r.Lift; l != nil {
		lines = []entry{
			{"treated", count(l.TreatedConverted), "of " + count(l.Treated) + " bought" + bracketed(percent(l.TreatedConverted, l.Treated))},
			{"held out", count(l.HeldOutConverted), "of " + count(l.HeldOut) + " bought" + bracketed(percent(l.HeldOutConverted, l.HeldOut))},
			{"difference", "", fmt.Sprintf("%s points, 95 %% interval %s to %s", points(l.Difference), points(l.Low), points(l.High))},
		}
		if l.EndedBy != "" {
			lines = append(lines, entry{"ended", "",
				fmt.Sprintf("%s, when %s began to send to the people who were held out; later orders are not counted",
					r.Run.instant(l.Until), l.EndedBy)})
		}
		if l.Warning != "" {
			lines = append(lines, entry{"warning", "", l.Warning})
		}
		p.block("lift", lines)
	}
}

// points is a difference of shares in percentage points.
func points(share float64) string { return fmt.Sprintf("%+.2f", 100*share) }

func bracketed(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
