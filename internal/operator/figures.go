package operator

import (
	"context"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/reporting"
)

// Figures is Why and Report of a run in one, for which its rows are counted once. The report is
// without the cost, for which each row with a price is read.
func (d *Session) Figures(ctx context.Context, id string) (w why.Answer, report *reporting.Report, err error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return w, nil, err
	}
	l := &countedOnce{Ledger: d.Ledger}
	if w, err = d.why(ctx, l, r); err == nil {
		report, err = d.report(ctx, l, r)
	}
	return w, report, err
}

// countedOnce counts the rows of one run once.
type countedOnce struct {
	campaign.Ledger
	done    bool
	tallies []campaign.Tally
	funnel  campaign.Funnel
}

// Tallies implements campaign.ReportLedger.
func (c *countedOnce) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if c.done {
		return c.tallies, c.funnel, nil
	}
	var err error
	c.tallies, c.funnel, err = c.Ledger.Tallies(ctx, no)
	c.done = err == nil
	return c.tallies, c.funnel, err
}

// summed has the summary of one run already.
type summed struct {
	campaign.Ledger
	sum campaign.Summary
}

// Summary implements campaign.ReportLedger.
func (s summed) Summary(context.Context, campaign.RunNo) (campaign.Summary, error) { return s.sum, nil }
