package command

import (
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
)

func TestAFollowUpCountsTheRowsLeftOut(t *testing.T) {
	run := campaign.Run{No: 2, Campaign: "spring", State: campaign.Ready}
	waits := run
	waits.State = campaign.WaitingApproval
	for _, tt := range []struct {
		f    launch.FollowedUp
		want string
	}{
		{launch.FollowedUp{Run: run, Chosen: 3}, "spring-2: 3 rows; `campaignd serve` sends it"},
		{launch.FollowedUp{Run: waits, Chosen: 3}, "spring-2: 3 rows; `campaignd approve spring-2` releases it"},
		{launch.FollowedUp{Run: run, Chosen: 3, Elsewhere: 1, NoID: 2}, "spring-2: 3 rows; 1 left out that are in another follow-up run; " +
			"2 left out that the service accepted; `campaignd serve` sends it"},
		{launch.FollowedUp{Run: run, Chosen: 3, Existed: true},
			"spring-2 was made of the same rows before (3 rows, ready); nothing was added"},
	} {
		if got := followUpSentence(resource.FollowedUpOf(tt.f)); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.f, got, tt.want)
		}
	}
}
