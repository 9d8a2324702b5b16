package reporting

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
)

// compared is a run that held people out, with its follow-up runs.
type compared struct {
	memory
	runs    []campaign.Run
	counted conversion.Tally
}

func (c *compared) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	return c.runs, nil
}

func (c *compared) CountPurchases(_ context.Context, t conversion.Tally) (conversion.Tally, error) {
	c.counted = t
	return t, nil
}

// The comparison ends when the first follow-up run begins to send to the people who were held out,
// not when one is made, or sends to others, or sends after the window.
func TestTheLiftSaysWhoEndedTheComparison(t *testing.T) {
	run := campaign.Run{No: 3, Campaign: "spring", State: campaign.Finished, StartedAt: at(0), EndedAt: at(3600),
		Definition: []byte("name: spring\nconnections: [c]\ntemplate: {name: sale, language: en}\n" +
			"holdout: {share: 0.1}\nconversions: {within: 24h}\n")}
	child := func(no campaign.RunNo, parent campaign.Run, where string, started time.Time) campaign.Run {
		return campaign.Run{No: no, Campaign: "spring", Parent: parent.No, ListName: parent.SelectionName(where), StartedAt: started}
	}
	other := campaign.Run{No: 2, Campaign: "spring"}
	const heldOut = "skipped=holdout"
	soon, later, over := run.EndedAt.Add(time.Hour), run.EndedAt.Add(2*time.Hour), run.EndedAt.Add(24*time.Hour)
	for _, tt := range []struct {
		name string
		runs []campaign.Run
		by   string
		want time.Time
	}{
		{"no follow-up", nil, "", over},
		{"two", []campaign.Run{child(5, run, heldOut, later), child(4, run, "failed,"+heldOut, soon)}, "spring-4", soon},
		{"not started", []campaign.Run{child(4, run, heldOut, time.Time{})}, "", over},
		{"other rows", []campaign.Run{child(4, run, "failed=holdout,skipped", soon)}, "", over},
		{"of another run", []campaign.Run{child(4, other, heldOut, soon)}, "", over},
		{"after the window", []campaign.Run{child(4, run, heldOut, over)}, "", over},
	} {
		l := &compared{runs: tt.runs, memory: memory{tallies: []campaign.Tally{{Status: campaign.Skipped, Reason: string(campaign.HeldOut),
			N: 2}}}}
		r, err := Build(t.Context(), l, run)
		if err != nil {
			t.Fatalf("%s: got %v, want a report", tt.name, err)
		}
		if r.Lift == nil || r.Lift.EndedBy != tt.by || !r.Lift.Until.Equal(tt.want) || l.counted.Until.Equal(tt.want) != (tt.by != "") {
			t.Errorf("%s: got %+v, counted until %v, want until %v, ended by %q", tt.name, r.Lift, l.counted.Until, tt.want, tt.by)
		}
		var b bytes.Buffer
		if err := r.Table(&b, 0); err != nil || strings.Contains(b.String(), "began to send to the people who were held out") != (tt.by != "") {
			t.Errorf("%s: got %v and %s, want the end only if it ended early", tt.name, err, b.String())
		}
	}
}

func TestTheTableShowsWhatACampaignBrought(t *testing.T) {
	lift := conversion.NewLift(9000, 189, 90, 1)
	r := &Report{Totals: Totals{}, Conversions: &conversion.Conversions{Orders: 1200, People: 1100, Reversed: 2,
		Revenue: []conversion.Revenue{{Currency: "EUR", Amount: "51230.4"}, {Currency: "XAF", Amount: "5000"}}}, Lift: &lift}
	var b bytes.Buffer
	if err := r.Table(&b, 0); err != nil {
		t.Fatalf("the table: %v; want no error", err)
	}
	for _, want := range []string{"\nconversions\n", "orders      1,200", "people      1,100", "reversed        2",
		"51230.4  EUR", "5000  XAF",
		"\nlift\n", "treated     189  of 9,000 bought (2.1 %)", "held out      1  of 90 bought (1.1 %)",
		"+0.99 points, 95 % interval -3.94 to +1.96", "fewer than 100 people"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}
