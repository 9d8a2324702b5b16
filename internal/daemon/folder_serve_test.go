package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/schedule"
)

// A schedule at a time that has passed has no next firing.
func TestTheLogHasNoTimeOfAFiringThatNeverComes(t *testing.T) {
	dir, lines := t.TempDir(), &notes{}
	put(t, filepath.Join(dir, "spring.yaml"), springFile+"schedule: {at: \"2026-03-03T09:00\"}\n")
	c := newCluster(t, "STANDARD", schedule.Every)
	c.config.Campaigns = dir
	serving := c.replica()
	serving.log = logTo(lines)
	serving.schedule = serving.newScheduler()
	serving.takeOver(t.Context())
	got := lines.lines("campaign loaded")
	if len(got) != 1 || !strings.Contains(got[0], `next="none: its time has passed"`) || strings.Contains(got[0], "0001") {
		t.Errorf("got the lines %q, want one with none", got)
	}
}

// A dropped list starts the campaign as the schedule does: as its file was last good.
func TestADropUsesTheLastGoodVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "spring.yaml")
		l := &dropLauncher{folder: schedule.NewFolder(dir)}
		want := func(when, source, fault string) {
			t.Helper()
			for range 2 {
				time.Sleep(findEvery)
				_ = l.missing("spring")
			}
			got, err := l.find("spring")
			if string(got.Source) != source || source != "" && (err != nil || l.missing("spring") != nil) {
				t.Errorf("%s: got %q and %v, want %q", when, got.Source, err, source)
			}
			if source == "" && !strings.Contains(fmt.Sprint(l.missing("spring")), fault) {
				t.Errorf("%s: got %v, want %q", when, err, fault)
			}
		}
		want("no file", "", "no file of the folder")
		put(t, file, "name: spring\nconnections: []\n")
		want("broken from the start", "", "spring.yaml:2:")
		put(t, file, springFile)
		want("corrected", springFile, "")
		put(t, file, "name: [")
		want("broken", springFile, "")
		put(t, file, "")
		want("emptied", springFile, "")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		want("removed", "", "no file of the folder")
	})
}

// The run of a firing has the definition that was read, also if its file was broken since.
func TestABrokenFileFiresItsLastGoodVersion(t *testing.T) {
	c := newCluster(t, "STANDARD", schedule.Every)
	file := c.campaign(c.dir, "spring", dailySchedule, 3)
	makeDue(t, file)
	folder := schedule.NewFolder(c.dir)
	all, err := folder.Look()
	if err != nil || len(all) != 1 {
		t.Fatalf("look = %v and %v, want one campaign", all, err)
	}
	good := all[0].Source
	put(t, file, "name: spring\nconnections: []\n")
	for range 2 {
		all, err = folder.Look()
	}
	if err == nil || len(all) != 1 {
		t.Fatalf("look = %v and %v, want the campaign and a fault", all, err)
	}
	d := c.replica()
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lookAndFire(t.Context(), all[0], e); err != nil {
		t.Fatal(err)
	}
	runs := c.runs()
	if len(runs) != 1 || runs[0].State != campaign.Ready || string(runs[0].Definition) != string(good) {
		t.Errorf("got the runs %+v, want one with the good definition", runs)
	}
}
