package daemon

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/why"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
	"campaignd/internal/schedule"
	"campaignd/reporting"
)

// A standby is promoted while a process sends. The process logs it once, still takes webhooks, and
// continues after the quarantine without a restart.
func TestASenderContinuesAfterTheQuarantine(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	server, err := pgtest.Start()
	pgtest.Require(t, err)
	t.Cleanup(server.Stop)
	cfg := *c.config
	cfg.Ledger, cfg.Replicas, cfg.Campaigns = server.URL("postgres"), 1, t.TempDir()
	cfg.Listen = config.Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 40}}
	cfg.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	cfg.DataDir = t.TempDir() // the quarantine is run where the sender runs, as by kubectl exec

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began, log := time.Now(), &notes{}
	d, err := New(ctx, &cfg, Options{Log: logTo(log), API: withAPI.API})
	if err != nil {
		t.Fatal(err)
	}
	admin, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- d.Serve(ctx, func(_, url string) { admin <- url }) }()
	url := <-admin
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()

	l, err := postgres.Open(t.Context(), cfg.Ledger, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	launched, err := launch.Request{Ledger: l, Service: d.client, File: c.campaign(c.dir, "promoted", "", 160)}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	no := launched.Run.No
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(longWait); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("got nothing within %v, want that %s; the log is\n%s", longWait, what, strings.Join(log.lines(""), ""))
			}
		}
	}
	accepted := func() (n int) {
		for range c.service.Messages() {
			n++
		}
		return n
	}
	until("the process sends", func() bool { return accepted() >= 5 })
	if err := server.Restore(); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	const wentBack, lost = "it went back in time", time.Second
	until("the sender logs it", func() bool { return len(log.lines(wentBack)) > 0 })
	sent := accepted()
	until("readyz names it, and the process stays ready for webhooks", func() bool {
		code, body := c.page(url + "/readyz")
		return code == http.StatusOK && strings.Contains(body, "nothing is sent") && strings.Contains(body, wentBack)
	})
	noticed := time.Now()
	until("why names it, after further tries too", func() bool {
		run, err := l.Run(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		w, err := why.Explain(t.Context(), l, run, why.Holds{}, time.Now())
		return err == nil && strings.Contains(w.Sentence, "the ledger does not answer") &&
			strings.Contains(w.Sentence, "run `campaignd ledger quarantine`") && w.Lanes[0].At.Sub(noticed) > lost+time.Second
	})
	if lines := log.lines(wentBack); len(lines) != 1 {
		t.Errorf("the log has it %d times, want once:\n%s", len(lines), strings.Join(lines, ""))
	}
	// Intents that were granted before are still posted: at most two groups, and what a slow answer
	// delayed.
	if now := accepted(); now > sent+40 {
		t.Errorf("%d messages were sent after the loss was noticed, want at most 40", now-sent)
	}

	q, err := Quarantine(t.Context(), &cfg, QuarantineOptions{Lost: lost, Ahead: -1})
	if err != nil || !q.WentBack || !q.Done || q.Ahead != 35 || q.Doubts == 0 {
		t.Fatalf("Quarantine = %+v and %v, want it done, 35 ahead, and doubts", q, err)
	}
	// The sender has reported its lanes all the time, and results and events came.
	if !q.Newest.Before(promoted) || q.Newest.Before(began) || !q.Since.Before(q.Newest) {
		t.Errorf("the newest record is of %v and the lost time began at %v, want the first between %v and %v, and the second before it",
			q.Newest, q.Since, began, promoted)
	}
	actions, err := l.Actions(t.Context(), campaign.ActionFilter{Limit: 1})
	if err != nil || len(actions) != 1 || actions[0].What != "quarantine" || !strings.Contains(actions[0].Detail, "lost 1s since 2") ||
		!strings.Contains(actions[0].By, "@") {
		t.Errorf("the last action: got %+v and %v, want the quarantine, with its lost time and user", actions, err)
	}
	if len(q.Runs) != 1 || q.Runs[0].Reason != campaign.PausedByLedger {
		t.Fatalf("quarantined runs = %+v, want one, paused by the ledger", q.Runs)
	}
	if _, err := l.SetWanted(t.Context(), no, campaign.WantRun, ""); err != nil {
		t.Fatal(err)
	}
	until("the sender sends the queued rows", func() bool {
		totals := map[campaign.Status]int64{}
		tallies, _, err := l.Tallies(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range tallies {
			totals[g.Status] += g.N
		}
		return totals[campaign.Queued]+totals[campaign.Sending] == 0
	})
	until("readyz is ok again", func() bool {
		code, body := c.page(url + "/readyz")
		return code == http.StatusOK && body == "ok\n"
	})
	for m := range c.service.Messages() {
		if m.Nth != 1 {
			t.Errorf("%s got %d messages, want 1", m.To, m.Nth)
		}
	}
	if problems, _, err := l.Audit(t.Context(), no, 10); err != nil || len(problems) > 0 {
		t.Errorf("Audit = %v and %v, want no problem", problems, err)
	}
}

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
