package reporting

import (
	"context"
	"iter"

	"campaignd/campaign"
)

const million = 1_000_000

// sendingMillion is a ledger of a million queued rows; it stores none of them.
type sendingMillion struct{ campaign.ReportLedger }

func (sendingMillion) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return []campaign.Tally{{Status: campaign.Queued, N: million}}, campaign.Funnel{}, nil
}

func (sendingMillion) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for i := range int64(million) {
			l := campaign.Line{Delivery: campaign.Delivery{Row: i + 1, Seq: i, Key: 1 + i*7919%15485863}, Status: campaign.Queued}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (sendingMillion) Audit(context.Context, campaign.RunNo, int) ([]campaign.Problem, error) {
	return nil, nil
}
