package daemon

import (
	"context"
	"math"
	"testing"

	"campaignd/campaign"
)

// ended is a ledger whose runs were refused in shares that differ.
type ended struct {
	campaign.Ledger
	runs    []campaign.Run
	refused map[campaign.RunNo]int64 // of 100 messages
}

func (l *ended) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) { return l.runs, nil }

func (l *ended) Tallies(_ context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	n := l.refused[no]
	return []campaign.Tally{{Status: campaign.Refused, N: n}, {Status: campaign.Skipped, N: 7}}, campaign.Funnel{Accepted: 100 - n}, nil
}

// A forecast expects the refusals of the ten runs that finished last. A run that was cancelled says
// nothing, and neither does an older run.
func TestAForecastRemembersTheLastFinishedRuns(t *testing.T) {
	l := &ended{refused: map[campaign.RunNo]int64{}}
	for no := campaign.RunNo(30); no > 0; no-- { // newest first
		r := campaign.Run{No: no, Campaign: "spring", State: campaign.Finished}
		l.refused[no] = 10
		switch {
		case no > 25:
			r.State, l.refused[no] = campaign.Cancelled, 90
		case no <= 15:
			l.refused[no] = 50
		}
		l.runs = append(l.runs, r)
	}
	var o Outlook
	if err := o.remember(t.Context(), l); err != nil || math.Abs(o.Past.Refused.Mean-0.1) > 1e-9 {
		t.Errorf("got a refused share of %g (%v), want 0.1, as of the ten runs that finished last", o.Past.Refused.Mean, err)
	}
}
