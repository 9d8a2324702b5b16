package operator

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// Series returns what became of a run in time, in steps of at least step.
func (d *Session) Series(ctx context.Context, id string, step time.Duration) (resource.Series, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Series{}, err
	}
	sum, err := d.Ledger.Summary(ctx, r.No)
	if err != nil {
		return resource.Series{}, err
	}
	return resource.SeriesOf(r.ID(), &sum, step), nil
}

// History returns what happened to a run. A session of one company sees no hold that may also stop
// other companies.
func (d *Session) History(ctx context.Context, id string) (campaign.History, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return campaign.History{}, err
	}
	h, err := d.Ledger.History(ctx, r.No)
	if d.Company != "" {
		var holds []campaign.Hold
		for _, e := range h.Entries {
			holds = append(holds, campaign.Hold{Scope: campaign.HoldScope(e.Value), ID: e.ID})
		}
		of := d.Origins(ctx, holds)
		h.Entries = slices.DeleteFunc(h.Entries, func(e campaign.HistoryEntry) bool {
			return (e.Kind == campaign.HistoryHold || e.Kind == campaign.HistoryHoldEnded) && !d.seesHold(ctx, of, campaign.HoldScope(e.Value), e.ID)
		})
	}
	h.Entries, h.Lanes = append([]campaign.HistoryEntry{}, h.Entries...), append([]campaign.LanePoint{}, h.Lanes...)
	return h, err
}
