package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// evidenceMargin is how much later than the beginning of a doubt a message must have been accepted,
// so that it was posted after the doubtful one: the time of a request.
const evidenceMargin = 10 * time.Second

// evident is what becomes of the doubts of connections whose window is over. The policy evidence
// sends them again when, over each, a webhook was taken of a message posted after all of them: then
// webhooks do come, and theirs did not. Otherwise they become unknown.
func (c *claimer) evident(
	ctx context.Context, policy campaign.OnUncertain, connections []string, began reception.Span,
) (campaign.OnUncertain, error) {
	if policy != campaign.UncertainEvidence {
		return policy, nil
	}
	for _, one := range connections {
		if one == "" {
			return campaign.UncertainHold, nil
		}
		heard, err := c.e.ledger.Heard(ctx, one, began.Until.Add(evidenceMargin))
		if err != nil {
			return policy, fmt.Errorf("look for evidence: %w", err)
		}
		if !heard {
			return campaign.UncertainHold, nil
		}
	}
	return campaign.UncertainResend, nil
}

// mayHaveSent is which connections may have posted deliveries of a segment.
func mayHaveSent(r *run, l campaign.Lease) []string {
	if l.Moved {
		return r.connections
	}
	return []string{l.Connection}
}
