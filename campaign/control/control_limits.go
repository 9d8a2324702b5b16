package control

import (
	"context"
	"errors"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// ChangeLimits changes limits of a run while it is sent. It returns ErrNotNow for an ended run.
func ChangeLimits(ctx context.Context, l campaign.RunLedger, r campaign.Run, c campaign.LimitChange, who string) (Outcome, error) {
	if c == (campaign.LimitChange{}) {
		return Outcome{}, errors.New("nothing to change")
	}
	after, err := l.SetLimits(ctx, r.No, c, who)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if after.State.Ended() {
		return Outcome{}, fmt.Errorf("%w: %s is %s, there is nothing to share", campaign.ErrNotNow, after.ID(), after.State)
	}
	d, err := file.ParseStored(after.ID(), after.Definition)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{after, fmt.Sprintf("%s: %s; its senders follow within a second", after.ID(), d.LimitsOf(after))}, nil
}
