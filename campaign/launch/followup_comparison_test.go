package launch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// A message to the people who were held out ends the comparison with them, so a follow-up that
// selects them within its window needs a permission of its own, also a dry run.
func TestAFollowUpEndsAComparisonOnlyIfAsked(t *testing.T) {
	const counted = "holdout: {share: 0.1}\nconversions: {within: 24h}\n"
	heldOut := campaign.Line{Status: campaign.Skipped, Reason: string(campaign.HeldOut)}
	failed := campaign.Line{Status: campaign.Failed, Code: "131049"}
	chosen := []launch.Where{{Status: campaign.Skipped, Detail: string(campaign.HeldOut)}, {Status: campaign.Failed}}
	for _, tt := range []struct {
		name, extra string
		since       time.Duration // the run's end
		where       []launch.Where
		permitted   bool
		refused     bool
		compared    int64
	}{
		{"within the window", counted, 23 * time.Hour, chosen, false, true, 0},
		{"permitted", counted, 23 * time.Hour, chosen, true, false, 2},
		{"other rows", counted, 0, chosen[1:], false, false, 0},
		{"after the window", counted, 25 * time.Hour, chosen, false, false, 0},
		{"nothing is compared", "holdout: {share: 0.1}\n", 0, chosen, false, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, parent := endedRun(t, tt.extra, heldOut, failed, heldOut)
			parent.EndedAt = parent.EndedAt.Add(-tt.since)
			for _, dry := range []bool{true, false} {
				got, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: l, Parent: parent, Where: tt.where,
					Early: true, EndsComparison: tt.permitted, DryRun: dry})
				switch {
				case tt.refused:
					until := parent.EndedAt.Add(24 * time.Hour).UTC().Format(time.RFC3339)
					if !errors.Is(err, campaign.ErrNotNow) || !strings.Contains(err.Error(), "--ends-comparison") ||
						!strings.Contains(err.Error(), until) || !strings.Contains(err.Error(), "2 people held out") {
						t.Errorf("dry %v: got %v, want a refusal with the end %s, both people and the flag", dry, err, until)
					}
				case err != nil || got.Compared != tt.compared:
					t.Errorf("dry %v: got %+v and %v, want %d people whose comparison ends", dry, got, err, tt.compared)
				}
			}
		})
	}
}
