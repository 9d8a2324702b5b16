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
	tally, err := l.CountPurchases(ctx, conversion.Tally{Run: int64(run.No), Rule: how.Rule, Start: run.StartedAt, End: run.EndedAt})
	if err != nil {
		return fmt.Errorf("report of run %s: %w", run.ID(), err)
	}
	c := tally.Conversions()
	r.Conversions = &c
	heldOut := r.Skipped[string(campaign.HeldOut)]
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
	r.Lift = &lift
	return nil
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
