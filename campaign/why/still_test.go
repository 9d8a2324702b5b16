package why

import (
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

// Only a lane that waits for its next instant has a rate that counts.
func TestEachLimitOfADayStandsStill(t *testing.T) {
	still := map[campaign.LimitedBy]bool{campaign.ByTier: true, campaign.ByAllowance: true, campaign.ByRamp: true,
		campaign.ByWindow: true, campaign.ByLimiter: true, campaign.ByHold: true,
		campaign.ByUnreachable: true}
	for _, m := range wording.Limits() {
		if got := StandsStill(m.By); got != still[m.By] {
			t.Errorf("%s: got %v, want %v", m.By, got, still[m.By])
		}
	}
}
