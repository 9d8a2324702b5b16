package command

import (
	"testing"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

func TestAStateIsShownWithItsReason(t *testing.T) {
	for _, tt := range []struct {
		facts resource.Run
		want  string
	}{
		{resource.Run{State: campaign.Running, Wanted: campaign.WantRun}, "running"},
		{resource.Run{State: campaign.Running}, "running"},
		{resource.Run{State: campaign.Running, Wanted: campaign.WantPause}, "running, wanted: pause"},
		{resource.Run{State: campaign.Paused, Wanted: campaign.WantPause, Reason: campaign.PausedByOperator}, "paused (operator)"},
		{resource.Run{State: campaign.Cancelled, Wanted: campaign.WantCancel}, "cancelled"},
	} {
		if got := StateOf(tt.facts); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.facts, got, tt.want)
		}
	}
}
