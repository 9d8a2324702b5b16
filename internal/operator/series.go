package operator

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
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

// History returns what happened to a run, with the holds that stopped messages of it. A session of
// one company sees no hold that may also stop other companies.
func (d *Session) History(ctx context.Context, id string) (campaign.History, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return campaign.History{}, err
	}
	h, err := d.Ledger.History(ctx, r.No)
	var holds []campaign.Hold
	for _, e := range h.Entries {
		if hold, is := e.Hold(); is {
			holds = append(holds, hold)
		}
	}
	if len(holds) > 0 {
		of := d.Origins(ctx, holds)
		h = why.History(r, h, of)
		h.Entries = slices.DeleteFunc(h.Entries, func(e campaign.HistoryEntry) bool {
			hold, is := e.Hold()
			return is && !d.seesHold(ctx, of, hold.Scope, hold.ID)
		})
	}
	h.Entries, h.Lanes = append([]campaign.HistoryEntry{}, h.Entries...), append([]campaign.LanePoint{}, h.Lanes...)
	return h, err
}
