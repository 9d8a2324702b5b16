package launch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

func TestAFollowUpWaitsUntilItMaySend(t *testing.T) {
	for _, state := range []campaign.State{campaign.Importing, campaign.WaitingApproval, campaign.Ready, campaign.Running, campaign.Paused} {
		l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed})
		parent.State = state
		if _, err := follow(l, parent, "failed"); !errors.Is(err, campaign.ErrNotNow) {
			t.Errorf("%s: %v, want %v", state, err, campaign.ErrNotNow)
		}
	}
	hour := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		line  campaign.Line
		early bool
		want  error
		says  string
	}{
		"limited an hour ago": {campaign.Line{Status: campaign.Failed, Code: "131049", FailedAt: hour}, false, campaign.ErrNotNow,
			"1 row failed with 131049 less than 24 hours ago and would fail again; wait until " + hour.Add(24*time.Hour).Format(time.RFC3339)},
		"accepted two days ago, limited an hour ago": {campaign.Line{Status: campaign.Failed, Code: "131049",
			AcceptedAt: time.Now().Add(-48 * time.Hour), FailedAt: hour}, false, campaign.ErrNotNow, "1 row failed with 131049"},
		"limited nearly a day ago": {campaign.Line{Status: campaign.Failed, Code: "131049",
			FailedAt: time.Now().Add(-24*time.Hour + time.Minute)}, false, campaign.ErrNotNow, "1 row failed with 131049"},
		"limited a day ago": {campaign.Line{Status: campaign.Failed, Code: "131049",
			FailedAt: time.Now().Add(-24*time.Hour - time.Second)}, false, nil, ""},
		"limited, and early is meant":   {campaign.Line{Status: campaign.Failed, Code: "131049", FailedAt: time.Now()}, true, nil, ""},
		"failed for another reason":     {campaign.Line{Status: campaign.Failed, Code: "131026", FailedAt: time.Now()}, false, nil, ""},
		"refused with the limit's code": {campaign.Line{Status: campaign.Refused, Code: "131049", FailedAt: time.Now()}, false, nil, ""},
		"nobody": {campaign.Line{Status: campaign.Read}, false, launch.ErrNobody,
			"a-1 has no row that is failed,refused,unknown; see `campaignd report a-1`"},
		"accepted without an id": {campaign.Line{Status: campaign.Unknown, Reason: "accepted_no_id"}, false, launch.ErrNobody,
			"the service answered all 1 of them with a success without an id, so none is sent again"},
	} {
		l, parent := endedRun(t, "", c.line)
		_, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: l, Parent: parent, Early: c.early,
			Where: []launch.Where{{Status: campaign.Failed}, {Status: campaign.Refused}, {Status: campaign.Unknown}}})
		if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v: %s", name, err, c.want, c.says)
		}
		if runs, _ := l.Runs(t.Context(), campaign.RunFilter{}); (len(runs) == 2) != (c.want == nil) {
			t.Errorf("%s: %d runs after %v, want 2 without an error, else 1", name, len(runs), err)
		}
	}
}

func TestAFollowUpTakesTheHeaderAndTheApprovalOver(t *testing.T) {
	const extra = "policies: {approval: true}\n"
	l, parent := endedRun(t, extra, campaign.Line{Status: campaign.Failed})
	parent.Asset, parent.AssetUntil = "ast_1", time.Now().Add(48*time.Hour).UTC().Truncate(time.Second)
	header := campaign.Asset{Connection: "conn_1", ID: "ast_1", Until: parent.AssetUntil}
	if err := l.SetAssets(t.Context(), parent.No, []campaign.Asset{header}); err != nil {
		t.Fatal(err)
	}
	got, err := follow(l, parent, "failed")
	if err != nil || got.Run.State != campaign.WaitingApproval || got.Run.Asset != "ast_1" || !got.Run.AssetUntil.Equal(parent.AssetUntil) {
		t.Errorf("%+v, %v, want it to wait for approval with ast_1 until %v", got.Run, err, parent.AssetUntil)
	}
	const withFile = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US, header: {image: {file: a.png}}}\n"
	for left, ok := range map[time.Duration]bool{23 * time.Hour: false, 25 * time.Hour: true} {
		l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed})
		parent.Definition, parent.Asset, parent.AssetUntil = []byte(withFile), "ast_1", time.Now().Add(left)
		if _, err := follow(l, parent, "failed"); (err == nil) != ok {
			t.Errorf("a header that is kept for %v more: %v, want accepted %v", left, err, ok)
		}
	}
}
