package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/schedule"
	"campaignd/reporting"
)

// The ledger has no run of a firing of the lost time, so the schedule would fire it again.
func TestAQuarantineKeepsTheScheduleFromFiringAgain(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	makeDue(t, c.campaign(c.dir, "spring", dailySchedule, 10))
	d := c.replica()
	cfg := *c.config
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "c.db")
	due := func() bool {
		all, err := schedule.Read(c.dir)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d schedules and %v, want 1", len(all), err)
		}
		_, due, err := d.schedule.Due(t.Context(), all[0], time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	quarantine := func(o QuarantineOptions) Quarantined {
		o.Force, o.Ahead = true, -1
		q, err := Quarantine(t.Context(), &cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	if q := quarantine(QuarantineOptions{}); len(q.Firings) != 0 || !due() {
		t.Errorf("nothing was lost: got %+v, want no firing closed", q)
	}
	if q := quarantine(QuarantineOptions{Lost: time.Minute, DryRun: true}); len(q.Firings) != 1 || q.Firings[0].Run != "" || !due() {
		t.Errorf("a dry run: got %+v, want one firing, without a run and still due", q)
	}
	if lost, err := c.ledger.LostTimes(t.Context()); err != nil || len(lost) > 0 {
		t.Errorf("nothing was lost, and a dry run: got the lost times %+v and %v, want none", lost, err)
	}
	q := quarantine(QuarantineOptions{Lost: time.Minute})
	if lost, err := c.ledger.LostTimes(t.Context()); err != nil || len(lost) != 1 || !lost[0].Since.Equal(q.Since) {
		t.Errorf("got the lost times %+v and %v, want one since %v", lost, err, q.Since)
	}
	if len(q.Firings) != 1 || q.Firings[0].Campaign != "spring" || q.Firings[0].Run == "" || due() {
		t.Fatalf("got %+v, still due: %v, want one firing of spring with a run, and not due", q, due())
	}
	runs := c.runs()
	if len(runs) != 1 || runs[0].ID() != q.Firings[0].Run || runs[0].State != campaign.Cancelled {
		t.Fatalf("runs = %+v, want one, cancelled, that stands for the firing", runs)
	}
	if report, err := reporting.Build(t.Context(), c.ledger, runs[0]); err != nil || report.Rows != 0 {
		t.Errorf("its report: got %+v and %v, want no rows", report, err)
	}
	if q := quarantine(QuarantineOptions{Lost: time.Minute}); len(q.Firings) != 0 {
		t.Errorf("a second quarantine: got %+v, want no firing", q)
	}
}

// A file that is broken during the quarantine, and one that is not there, are corrected within the
// grace of a firing of before it. The ledger knows one firing that waits, and no other one.
func TestAQuarantineClosesTheFiringsOfBrokenFiles(t *testing.T) {
	for name, times := range map[string]string{
		"cron": dailySchedule,
		"at":   fmt.Sprintf("schedule: {at: %q, misfire: run, grace: 48h}\n", time.Now().Add(-time.Hour).Format(time.RFC3339)),
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", known ", known), func(t *testing.T) {
				c := newCluster(t, "STANDARD", 15*time.Second)
				file := c.campaign(c.dir, "spring", times, 10)
				makeDue(t, file)
				good, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				d := c.replica()
				look := func() *campaign.Firing {
					t.Helper()
					all, err := schedule.Read(c.dir)
					if err != nil || len(all) != 1 {
						t.Fatalf("%d schedules and %v, want 1", len(all), err)
					}
					f, err := d.schedule.Look(t.Context(), all[0], time.Now())
					if err != nil {
						t.Fatal(err)
					}
					return f
				}
				if known && look() == nil {
					t.Fatal("got no firing before the quarantine, want one")
				}
				put(t, file, "name: [")
				cfg := *c.config
				cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "c.db")
				if _, err := Quarantine(t.Context(), &cfg, QuarantineOptions{Lost: time.Minute, Force: true, Ahead: -1}); err != nil {
					t.Fatal(err)
				}
				put(t, file, string(good))
				makeDue(t, file)
				if f := look(); f != nil {
					t.Errorf("corrected after the quarantine: got the firing of %s, want none", f.At)
				}
				firings, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
				if err != nil || len(firings) != 1 || firings[0].Outcome != campaign.FiringMissed ||
					firings[0].Detail != "it may have been launched in the time that the ledger lost" {
					t.Errorf("got the firings %+v and %v, want one, missed because of the lost time", firings, err)
				}
			})
		}
	}
}
