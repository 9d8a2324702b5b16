package operator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/operator"
)

// A launch by name must not take one of two files by chance. A file with a schedule comes first.
func TestACampaignOfTwoFilesIsRefused(t *testing.T) {
	d, _ := session(t)
	scheduled := folder(t)[0]
	plain := func(path string) operator.File { return operator.File{Path: path, Definition: scheduled.Definition} }
	for _, tt := range []struct {
		about string
		files []operator.File
		want  string
		is    error
	}{
		{"one", []operator.File{plain("a.yaml"), {Path: "broken.yaml"}}, "a.yaml", nil},
		{"none", []operator.File{{Path: "broken.yaml"}}, `the campaign "spring"`, operator.ErrAbsent},
		{"two", []operator.File{plain("a.yaml"), {Path: "broken.yaml"}, plain("b.yaml")},
			"is used by a.yaml, b.yaml, so none", operator.ErrInvalid},
		{"one of two with a schedule", []operator.File{plain("a.yaml"), scheduled, plain("z.yaml")}, "spring.yaml", nil},
	} {
		f, c, err := d.Campaign(t.Context(), tt.files, "spring")
		switch {
		case tt.is == nil && (err != nil || f.Path != tt.want || c.File != tt.want):
			t.Errorf("%s: got %q, the entry of %q and %v, want %q", tt.about, f.Path, c.File, err, tt.want)
		case tt.is != nil && (!errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want an error with %q", tt.about, err, tt.want)
		}
	}
}

// A time to come fires nothing if its campaign was launched at that civil time of another zone.
func TestATimeThatFiresNothingIsNotListed(t *testing.T) {
	for outcome, want := range map[campaign.FiringOutcome]int{campaign.FiringLaunched: 0, campaign.FiringLaunching: 0,
		campaign.FiringMissed: 1, "": 1} {
		d, _ := session(t)
		f := folder(t)[0]
		day := time.Now().UTC().AddDate(0, 1, 0).Truncate(time.Hour)
		f.Source = fmt.Appendf(nil, "schedule: {at: %q}\n", day.Format("2006-01-02T15:04"))
		f.Definition.Schedule = &file.Schedule{At: day.Format("2006-01-02T15:04"), Timezone: "America/New_York"}
		var err error
		if f.Cron, err = plan.CronOf(f.Path, f.Source, f.Definition); err != nil {
			t.Fatal(err)
		}
		if outcome != "" {
			was := campaign.Firing{Campaign: "spring", Key: day.Format("2006-01-02T15:04:05"), At: day, Since: day, Outcome: outcome}
			if _, err := d.Ledger.NoteFiring(t.Context(), was); err != nil {
				t.Fatal(err)
			}
		}
		all, err := d.Schedule(t.Context(), []operator.File{f}, "", 3, 0)
		if err != nil || len(all) != want {
			t.Errorf("at a time that was %q elsewhere: got %+v and %v, want %d firings to come", outcome, all, err, want)
		}
		listed, err := d.Campaigns(t.Context(), []operator.File{f})
		if err != nil || len(listed) != 1 || listed[0].Next.IsZero() != (want == 0) {
			t.Errorf("at a time that was %q elsewhere: got the campaigns %+v and %v, want a next time: %v", outcome, listed, err, want == 1)
		}
		noLedger := operator.Session{}
		if all, err := noLedger.Schedule(t.Context(), []operator.File{f}, "", 3, 0); err != nil || len(all) != 1 {
			t.Errorf("without a ledger: got %+v and %v, want the one firing to come", all, err)
		}
	}
}
