package why_test

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
)

// idle is a ledger in which nobody has sent anything yet.
type idle struct{}

func (idle) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return []campaign.Tally{{Status: campaign.Queued, N: 5}}, campaign.Funnel{}, nil
}
func (idle) Lanes(context.Context, campaign.RunNo) ([]campaign.LaneReport, error) { return nil, nil }
func (idle) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return []campaign.SegmentState{{Segment: campaign.Segment{Hi: 5}}}, nil
}

// A paused run waits for its operator.
func ExampleExplain() {
	run := campaign.Run{No: 3, Campaign: "spring", State: campaign.Paused, Rows: 5}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	answer, err := why.Explain(context.Background(), idle{}, run, why.Holds{}, now)
	fmt.Println(answer.LimitedBy, answer.Totals.Queued, err)
	// Output: pause 5 <nil>
}
