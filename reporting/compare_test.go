package reporting

import (
	"strings"
	"testing"

	"campaignd/campaign"
)

func TestTwoRunsAreComparedByTheirShares(t *testing.T) {
	a := &Report{Rows: 100, Totals: Totals{campaign.Skipped: 20, campaign.Failed: 4},
		Funnel: Funnel{Sendable: 80, Accepted: 80, Delivered: 40, Read: 10}, Responses: &campaign.Responses{Replied: 2}}
	b := &Report{Rows: 10, Totals: Totals{campaign.Refused: 1, campaign.Unknown: 1},
		Funnel: Funnel{Sendable: 10, Accepted: 9, Delivered: 9, Read: 9}, Responses: &campaign.Responses{OptedOut: 3}}
	var got []string
	for _, c := range Contrasts(a, b) {
		got = append(got, strings.Join(c.Cells(), " | "))
	}
	want := `rows | 100 | 10 | 
skipped | 20 (20.0 %) | 0 (0.0 %) | -20.0 points of rows
sendable | 80 (80.0 %) | 10 (100.0 %) | +20.0 points of rows
accepted | 80 (100.0 %) | 9 (90.0 %) | -10.0 points of sendable
delivered | 40 (50.0 %) | 9 (100.0 %) | +50.0 points of accepted
read | 10 (25.0 %) | 9 (100.0 %) | +75.0 points of delivered
failed or refused | 4 (5.0 %) | 1 (10.0 %) | +5.0 points of sendable
uncertain | 0 (0.0 %) | 1 (10.0 %) | +10.0 points of sendable
replied | 2 (5.0 %) | 0 (0.0 %) | -5.0 points of delivered
opted out | 0 (0.0 %) | 3 (33.3 %) | +33.3 points of delivered`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	b.Responses = nil
	for _, c := range Contrasts(a, b) {
		if c.Name == "replied" {
			t.Errorf("got %+v of a run that does not know its replies, want none", c)
		}
	}
	for _, c := range Contrasts(a, &Report{}) {
		if c.Points != nil || c.Runs[1].Percent != nil {
			t.Errorf("got %+v with a run of no rows, want no share and no difference", c)
		}
	}
}
