package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/config"
	"campaignd/internal/schedule"
)

// Each replica looks for interrupted imports every 5 s, and so does the importing one. An import
// that is alive causes no request to the service, no reading of the list and no line in the log.
func TestReplicasDoNotTouchALiveImport(t *testing.T) {
	t.Parallel()
	const looks = 4 // those of 20 s
	c := newCluster(t, "STANDARD", 15*time.Second)
	calls := c.watched()
	run := c.interrupted("alive", 100)
	c.ledger = aged{c.ledger}

	log := &notes{}
	replicas := make([]*Daemon, 3)
	launchers := make([]*schedule.Launcher, len(replicas))
	for i := range replicas {
		replicas[i] = c.replica()
		replicas[i].log = logTo(log)
		replicas[i].schedule = replicas[i].newScheduler()
		launchers[i] = schedule.NewLauncher(replicas[i].schedule)
	}
	look := func() {
		for i, d := range replicas {
			e, err := d.engine(0)
			if err != nil {
				t.Fatal(err)
			}
			d.schedule.ResumeImports(t.Context(), launchers[i], e, nil)
		}
		for _, l := range launchers {
			l.Wait()
		}
	}
	// The first replica is the importer: it has the job of the import.
	err := replicas[0].job(fmt.Sprintf("import %d", run.No)).Do(t.Context(), func(context.Context) error {
		for range looks {
			look()
		}
		// A replica that reads the list now logs that it is missing.
		if err := os.Rename(run.ListName, run.ListName+".away"); err != nil {
			return err
		}
		for range looks {
			look()
		}
		return os.Rename(run.ListName+".away", run.ListName)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("a live import: got %d requests to the service, want none", n)
	}
	if lines := log.lines(""); len(lines) != 0 {
		t.Errorf("a live import: got the log %q, want none", lines)
	}

	look() // the importer has ended
	if r, err := c.ledger.Run(t.Context(), run.No); err != nil || r.State != campaign.Ready || r.Rows != 100 {
		t.Errorf("after the importer: got %s with %d rows (%v), want ready with 100", r.State, r.Rows, err)
	}
	if lines := log.lines("interrupted import finished"); len(lines) != 1 {
		t.Errorf("%d replicas finished the import, want one: %q", len(lines), lines)
	}
}

// The schedule of a process resumes the import of a dead process, and logs the launch that fails.
func TestTheScheduleResumesAnAbandonedImport(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	c.config.Campaigns = t.TempDir()
	run := c.interrupted("left", 100)
	file := c.campaign(c.config.Campaigns, "daily", dailySchedule, 10)
	makeDue(t, file)
	if err := os.Remove(strings.TrimSuffix(file, ".yaml") + ".csv"); err != nil {
		t.Fatal(err)
	}
	c.ledger = aged{c.ledger}
	log, d := &notes{}, c.replica()
	d.log = logTo(log)
	d.schedule = d.newScheduler()
	e, err := c.replica().engine(0) // the schedule only pokes it
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.schedule.Run(ctx, e, schedule.Every); close(ended) }()
	c.until("the import is resumed and the fault logged", func() bool {
		r, err := c.ledger.Run(t.Context(), run.No)
		if err != nil {
			t.Fatal(err)
		}
		return r.State == campaign.Ready && len(log.lines("a launch failed")) == 1
	})
	stop()
	<-ended
	due := time.Now().UTC().Truncate(24 * time.Hour).Format(time.RFC3339)
	if got, want := log.lines("a launch failed")[0], `err="`+file+", due "+due+": "; !strings.Contains(got, want) {
		t.Errorf("got the line %s, want %s in it", got, want)
	}
}

func TestTheScheduleLogsItsLaunchesAndFaults(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	folder := t.TempDir()
	c.campaign(folder, "daily", "schedule: {cron: \"0 0 * * *\"}\n", 3)
	bad := filepath.Join(folder, "bad.yaml")
	if err := os.WriteFile(bad, []byte("nme: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := schedule.Read(folder)
	if err == nil || len(all) != 1 {
		t.Fatalf("ReadSchedule = %v and %v, want one campaign and one fault", all, err)
	}
	log := &notes{}
	d := c.replica()
	d.log = logTo(log)
	d.schedule = d.newScheduler()
	again := schedule.New(schedule.Options{Config: &config.Config{Campaigns: folder}, Ledger: c.ledger, Log: d.log})
	_, err = again.CloseFirings(t.Context(), nil, true)
	if err != nil {
		t.Errorf("closeFirings = %v, want nil", err)
	}
	if lines := log.lines("a campaign file is not used"); len(lines) != 1 || !strings.Contains(lines[0], bad) {
		t.Errorf("got the log %q, want one line that names %s", lines, bad)
	}
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.schedule.FireAs(t.Context(), all[0], schedule.CronKey+all[0].Next(time.Now()).Key, e); err != nil {
		t.Fatal(err)
	}
	lines := log.lines("scheduled campaign launched")
	if len(lines) != 1 || !strings.Contains(lines[0], "run=daily-1 ") || !strings.Contains(lines[0], "rows=3") ||
		!strings.Contains(lines[0], "firing="+all[0].Next(time.Now()).Key) {
		t.Errorf("got the log %q, want one launch of daily-1 with 3 rows and its firing", lines)
	}
	faulty := schedule.Scheduled{File: bad, Definition: &file.Definition{}}
	if _, err := d.schedule.FireAs(t.Context(), faulty, schedule.CronKey+all[0].Next(time.Now()).Key, e); err == nil {
		t.Errorf("fire of a faulty file = %v, want an error", err)
	}
}
