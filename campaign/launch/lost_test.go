package launch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/reception"
)

// lostLedger is a ledger that went back in time.
type lostLedger struct {
	*fixedRows
	lost []reception.LostTime
}

func (l *lostLedger) LostTimes(context.Context) ([]reception.LostTime, error) { return l.lost, nil }

// Every way to send unknown rows again is a follow-up.
func TestNobodyIsSentAgainBeforeTheReplay(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	lost := reception.LostTime{At: now.Add(-3 * time.Hour), Since: now.Add(-4 * time.Hour)}
	asked, late := lost, lost
	asked.Asked, late.Asked = now.Add(-2*time.Hour), now.Add(-time.Minute)
	before, after := lost.At.Add(-time.Minute), lost.At.Add(time.Minute)
	for name, c := range map[string]struct {
		lost        reception.LostTime
		line        campaign.Line
		notReplayed bool
		says        string // "": it is sent
	}{
		"not replayed": {lost, campaign.Line{Status: campaign.Unknown, DoubtSince: lost.At}, false,
			"events since " + lost.Since.Format(time.RFC3339) + " were lost and not replayed: " +
				"`campaignd webhooks replay --since " + lost.Since.Format(time.RFC3339) + "`, or --not-replayed"},
		"asked for a minute ago": {late, campaign.Line{Status: campaign.Unknown, DoubtSince: before}, false,
			"may still come: take webhooks for 40m after that"},
		"replayed":             {asked, campaign.Line{Status: campaign.Unknown, DoubtSince: before}, false, ""},
		"the operator says so": {lost, campaign.Line{Status: campaign.Unknown, DoubtSince: before}, true, ""},
		"a later doubt":        {lost, campaign.Line{Status: campaign.Unknown, DoubtSince: after}, false, ""},
		"a failed row":         {lost, campaign.Line{Status: campaign.Failed, FailedAt: before}, false, ""},
	} {
		l, parent := endedRun(t, "", c.line)
		_, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: &lostLedger{l, []reception.LostTime{c.lost}},
			Parent: parent, NotReplayed: c.notReplayed, Where: []launch.Where{{Status: campaign.Unknown}, {Status: campaign.Failed}}})
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, campaign.ErrNotNow) || !strings.Contains(fmt.Sprint(err), c.says)) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
		if runs, _ := l.Runs(t.Context(), campaign.RunFilter{}); (len(runs) == 2) != (c.says == "") {
			t.Errorf("%s: %d runs, want 2 only if it is sent", name, len(runs))
		}
	}
}
