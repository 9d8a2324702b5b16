package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/schedule"
)

// A copy of a file with schedule.at, or a new name in it, is a firing that no process has seen. It
// must not send to the people of the first one again.
func TestALateCopyOfAFiringIsMissed(t *testing.T) {
	c := newCluster(t, "STANDARD", schedule.Every)
	at := time.Now().UTC().Add(-10 * time.Minute).Truncate(time.Second)
	more := fmt.Sprintf("schedule: {at: '%s', misfire: run, grace: 24h}\n", at.Format(time.RFC3339))
	first := c.campaign(c.dir, "spring", more, 3)
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(c.dir, "summer.yaml")
	put(t, second, strings.Replace(string(text), "name: spring", "name: summer", 1))
	third := filepath.Join(c.dir, "autumn.yaml") // the same minute, to other people
	put(t, filepath.Join(c.dir, "other.csv"), "phone,first_name,order\n+2348030009999,Ada,A-1\n")
	put(t, third, strings.NewReplacer("name: spring", "name: autumn", "spring.csv", "other.csv").Replace(string(text)))
	d := c.replica()
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file, name string
		want       campaign.FiringOutcome
	}{{first, "spring", campaign.FiringLaunched}, {second, "summer", campaign.FiringMissed}, {third, "autumn", campaign.FiringLaunched}} {
		s, err := readScheduled(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // it is decided once
			if err := d.lookAndFire(t.Context(), s, e); err != nil {
				t.Errorf("%s: got %v, want no fault", tt.name, err)
			}
		}
		got, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: tt.name})
		if err != nil || len(got) != 1 || got[0].Outcome != tt.want {
			t.Errorf("%s: got the firings %+v and %v, want one that is %s", tt.name, got, err, tt.want)
			continue
		}
		const why = ", from spring-1, so it was not launched this late; to send it all the same, give schedule.at a time to come"
		if missed := tt.want == campaign.FiringMissed; missed != strings.HasSuffix(got[0].Detail, why) {
			t.Errorf("%s: got the detail %q, want of a missed one the end %q", tt.name, got[0].Detail, why)
		}
	}
	if runs := c.runs(); len(runs) != 2 {
		t.Errorf("got %d runs, want those of spring and autumn", len(runs))
	}
}
