package campaign_test

import (
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

func TestTheStoryOfARunIsTold(t *testing.T) {
	t.Parallel()
	state := func(s campaign.State, detail string) campaign.HistoryEntry {
		return campaign.HistoryEntry{Kind: campaign.HistoryState, Value: string(s), Detail: detail}
	}
	entry := func(k campaign.HistoryKind, value, id, detail string) campaign.HistoryEntry {
		return campaign.HistoryEntry{Kind: k, Value: value, ID: id, Detail: detail}
	}
	h := campaign.History{Entries: []campaign.HistoryEntry{
		state(campaign.WaitingApproval, ""), state(campaign.Ready, ""), state(campaign.Running, ""), entry(campaign.HistoryCanary, "", "", ""),
		entry(campaign.HistoryWanted, string(campaign.WantPause), "", ""), state(campaign.Paused, "operator: lunch"),
		entry(campaign.HistoryWanted, string(campaign.WantRun), "", ""), state(campaign.Ready, ""), state(campaign.Running, ""),
		entry(campaign.HistoryLimits, `{"rate":12}`, "", ""), entry(campaign.HistoryLimits, `{"rate":12,"weight":3}`, "", ""),
		entry(campaign.HistoryHold, string(campaign.HoldConnection), "conn_1", "131048"),
		entry(campaign.HistoryHoldEnded, string(campaign.HoldConnection), "conn_1", "131048"),
		entry(campaign.HistoryHold, string(campaign.HoldRun), campaign.HoldAny, "maintenance"),
		state(campaign.Paused, "breaker: 131049"), entry(campaign.HistoryWanted, string(campaign.WantCancel), "", ""),
		state(campaign.RunStateFailed, ": the template is gone"), state(campaign.Cancelled, ""), state(campaign.Finished, ""),
	}}
	var got []string
	for _, s := range h.Story(campaign.Run{CreatedAt: time.Unix(1, 0), LaunchedBy: "desk"}) {
		got = append(got, s.Sentence)
	}
	want := []string{
		"launched by desk", "it waited for its approval", "approved", "sending began", "the canary was good, and the other rows were released",
		"paused by an operator: lunch", "resumed", "an operator changed its limits: 12 messages per second",
		"an operator changed its limits: weight 3",
		"connection conn_1 was held: the number is restricted because people blocked or reported it; " +
			"check its quality before going on (131048)", "the hold of connection conn_1 ended",
		"every run was held: maintenance", "paused by its breaker: 131049", "an operator cancelled it",
		"failed: the template is gone", "ended as cancelled", "finished",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("story (-want +got):\n%s", d)
	}
}
