package wording

import (
	"os"
	"strings"
	"testing"

	"campaignd/campaign"
)

func TestTheGlossaryHasEachLimit(t *testing.T) {
	text, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What limits a run\n")
	var got []string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| `") {
			got = append(got, line)
		}
	}
	all := Limits()
	if len(got) != len(all) {
		t.Fatalf("got %d rows, want %d", len(got), len(all))
	}
	for i, m := range all {
		if want := "| `" + string(m.By) + "` | " + m.Meaning + " |"; got[i] != want {
			t.Errorf("got  %s\nwant %s", got[i], want)
		}
	}
}

// Only a lane that waits for its next instant has a rate that counts.
func TestEachLimitOfADayStandsStill(t *testing.T) {
	still := map[campaign.LimitedBy]bool{campaign.ByTier: true, campaign.ByAllowance: true, campaign.ByRamp: true,
		campaign.ByWindow: true, campaign.ByLimiter: true, campaign.ByHold: true,
		campaign.ByUnreachable: true}
	for _, m := range Limits() {
		if got := m.By.StandsStill(); got != still[m.By] {
			t.Errorf("%s: got %v, want %v", m.By, got, still[m.By])
		}
	}
}
