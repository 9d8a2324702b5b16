package ledger

import (
	"testing"

	"campaignd/campaign"
)

func TestAFinalOutcomeOfAFiringStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, to        campaign.FiringOutcome
		write, changed bool
	}{
		{"", campaign.FiringLaunching, true, true},
		{campaign.FiringLaunching, campaign.FiringLaunching, true, false},
		{campaign.FiringWaiting, campaign.FiringLaunching, true, true},
		{campaign.FiringLaunching, campaign.FiringFailed, true, true},
		{campaign.FiringFailed, campaign.FiringLaunching, false, false},
		{campaign.FiringMissed, campaign.FiringMissed, false, false},
	} {
		if write, changed := FiringMoves(c.was, c.to); write != c.write || changed != c.changed {
			t.Errorf("a firing that was %q becomes %q: write %v, changed %v; want %v, %v", c.was, c.to, write, changed, c.write, c.changed)
		}
	}
}
