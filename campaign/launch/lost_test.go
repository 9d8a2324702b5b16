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

// Events that were lost have come when the service was asked for them, and webhooks were taken for
// a doubt window since then, so that none of them is repeated any more.
func TestAReplayArrivesWhileWebhooksAreTaken(t *testing.T) {
	for _, c := range []struct {
		name    string
		spans   []reception.Span
		now     int
		asked   int // minute; 0: never
		since   int // minute at which the doubt began; the quarantine was in minute 100
		missing bool
	}{
		{"never asked for", listened(0, 500), 500, 0, 90, true},
		{"asked for, and taken for the window", listened(0, 150), 150, 110, 90, false},
		{"a minute less", listened(0, 149), 149, 110, 90, true},
		{"nobody took them", listened(0, 105), 200, 110, 90, true},
		{"nobody took them until the service gave up", listened(0, 105, 800, 900), 900, 110, 90, true},
		{"a break, and its repetitions are due", listened(0, 120, 123, 154), 154, 110, 90, false},
		{"a break while they may come again", listened(0, 149, 152, 156), 156, 110, 90, true},
		{"a doubt of the quarantine", listened(0, 500), 500, 0, 100, true},
		{"a doubt of after the quarantine", listened(0, 500), 500, 0, 101, false},
	} {
		lost := reception.LostTime{At: minute(100), Since: minute(40)}
		if c.asked > 0 {
			lost.Asked = minute(c.asked)
		}
		l := reception.NewListening(c.spans, reception.ServiceRepeats(), minute(c.now)).Without([]reception.LostTime{lost})
		got, missing := l.Unreplayed(minute(c.since), 40*time.Minute)
		if missing != c.missing || missing && got != lost {
			t.Errorf("%s: Unreplayed = %+v, %v; want missing %v", c.name, got, missing, c.missing)
		}
	}
}

// Doubts of before a quarantine end without being sent again until the lost events are back; later
// ones follow the policy of their campaign.
func TestOnlyDoubtsOfBeforeAQuarantineAreHeld(t *testing.T) {
	lost := []reception.LostTime{{At: minute(200), Since: minute(150), Asked: minute(201)}, {At: minute(100), Since: minute(40)}}
	l := reception.NewListening(listened(0, 300), reception.ServiceRepeats(), minute(300)).Without(lost)
	cut := minute(100).Add(time.Millisecond)
	for name, c := range map[string]struct{ over, held, rest reception.Span }{
		"all":    {span(0, 250), reception.Span{Since: minute(0), Until: cut}, reception.Span{Since: cut, Until: minute(250)}},
		"before": {span(0, 90), span(0, 90), span(90, 90)},
		"after":  {span(110, 250), reception.Span{}, span(110, 250)},
	} {
		if held, rest := l.Split(c.over, 40*time.Minute); held != c.held || rest != c.rest {
			t.Errorf("%s: got %v and %v, want %v and %v", name, held, rest, c.held, c.rest)
		}
	}
}

func span(since, until int) reception.Span {
	return reception.Span{Since: minute(since), Until: minute(until)}
}

// Events that were tried during an outage come again after it: these may be older than the lost
// time.
func TestALostEventMayBeOlderThanTheLostTime(t *testing.T) {
	for name, c := range map[string]struct {
		spans []reception.Span
		want  int
	}{
		"no outage":                {listened(0, 100), 100},
		"an outage whose end came": {listened(0, 40, 45, 100), 100},
		"one that is repeated":     {listened(0, 60, 95, 100), 60},
		"nobody takes them":        {listened(0, 60), 60},
		"nobody ever did":          {nil, 100},
	} {
		l := reception.NewListening(c.spans, reception.ServiceRepeats(), minute(100))
		if got := l.Missed(); !got.Equal(minute(c.want)) {
			t.Errorf("%s: Missed = %v, want %v", name, got, minute(c.want))
		}
	}
}

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
