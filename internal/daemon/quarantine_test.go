package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
	"campaignd/reporting"
)

// notes is a log that may be read while it is written.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// lines are those that contain what.
func (n *notes) lines(what string) (found []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range strings.Lines(n.text.String()) {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// A standby is promoted under a process that sends. It says so once, stays there for webhooks, and goes on after the
// quarantine, which needs no restart.
func TestASenderGoesOnAfterTheQuarantine(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	server, err := pgtest.Start()
	pgtest.Require(t, err)
	t.Cleanup(server.Stop)
	config := *c.config
	config.Ledger, config.Replicas, config.Campaigns = server.URL("postgres"), 1, t.TempDir()
	config.Listen = Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	config.Numbers = map[string]Number{"conn_1": {Rate: 40}}
	config.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log := &notes{}
	d, err := New(ctx, &config, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
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

	desk, err := postgres.Open(t.Context(), config.Ledger, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	launched, err := campaign.Launch{Ledger: desk, Service: d.client, File: c.campaign(c.dir, "promoted", "", 160)}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	no := launched.Run.No
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not within 30 s\n%s", what, strings.Join(log.lines(""), ""))
			}
		}
	}
	accepted := func() (n int) {
		for range c.service.Messages() {
			n++
		}
		return n
	}
	until("it sends", func() bool { return accepted() >= 5 })
	if err := server.Restore(); err != nil {
		t.Fatal(err)
	}
	const said = "it went back in time"
	until("it says so", func() bool { return len(log.lines(said)) > 0 })
	sent := accepted()
	until("readyz says so, and the process stays there for webhooks", func() bool {
		code, body := c.page(url + "/readyz")
		return code == http.StatusOK && strings.Contains(body, "nothing is sent") && strings.Contains(body, said)
	})
	noticed := time.Now()
	until("why says so, and goes on saying so", func() bool {
		run, err := desk.Run(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		w, err := campaign.Explain(t.Context(), desk, run, time.Now())
		return err == nil && strings.Contains(w.Sentence, "held up by the ledger") && strings.Contains(w.Sentence, "run `campaignd ledger quarantine`") &&
			w.Lanes[0].At.Sub(noticed) > time.Second // it tried again a few times meanwhile
	})
	if lines := log.lines(said); len(lines) != 1 {
		t.Errorf("it says so %d times:\n%s", len(lines), strings.Join(lines, ""))
	}
	if now := accepted(); now > sent+40 { // what was granted before is posted still: at most two groups, and a slow answer
		t.Errorf("%d were sent after the loss was noticed", now-sent)
	}

	q, err := Quarantine(t.Context(), &config, QuarantineOptions{Lost: time.Second, Ahead: -1})
	if err != nil || !q.WentBack || !q.Done || q.Ahead != 35 || q.Doubts == 0 || len(q.Runs) != 1 || q.Runs[0].Reason != campaign.PausedByLedger {
		t.Fatalf("Quarantine = %+v and %v, want one run paused by the ledger, 35 ahead", q, err)
	}
	if _, err := desk.SetWanted(t.Context(), no, campaign.WantRun); err != nil {
		t.Fatal(err)
	}
	until("it sends what is queued", func() bool {
		totals := map[campaign.Status]int64{}
		tallies, _, err := desk.Tallies(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range tallies {
			totals[g.Status] += g.N
		}
		return totals[campaign.Queued]+totals[campaign.Sending] == 0
	})
	until("readyz forgets it", func() bool {
		code, body := c.page(url + "/readyz")
		return code == http.StatusOK && body == "ok\n"
	})
	for m := range c.service.Messages() {
		if m.Nth != 1 {
			t.Errorf("%s got %d messages", m.To, m.Nth)
		}
	}
	if problems, err := desk.Audit(t.Context(), no, 10); err != nil || len(problems) > 0 {
		t.Errorf("audit: %v %v", problems, err)
	}
}

// A schedule that fired in the lost time would fire again: the ledger knows nothing of it.
func TestAQuarantineKeepsTheScheduleFromFiringAgain(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	file := c.campaign(c.dir, "spring", "schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n", 10)
	written := time.Now().AddDate(0, 0, -2) // a day has begun since
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	d := c.replica()
	config := *c.config
	config.Ledger = "sqlite:" + filepath.Join(c.dir, "c.db")
	due := func() bool {
		all, err := ReadSchedule(c.dir)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d schedules and %v, want 1", len(all), err)
		}
		_, due, err := d.due(t.Context(), all[0], time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	quarantine := func(o QuarantineOptions) Quarantined {
		o.Force, o.Ahead = true, -1
		q, err := Quarantine(t.Context(), &config, o)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	if q := quarantine(QuarantineOptions{}); len(q.Firings) != 0 || !due() {
		t.Errorf("nothing was lost, and a firing is closed: %+v", q)
	}
	if q := quarantine(QuarantineOptions{Lost: time.Minute, DryRun: true}); len(q.Firings) != 1 || q.Firings[0].Run != "" || !due() {
		t.Errorf("a dry run: %+v", q)
	}
	q := quarantine(QuarantineOptions{Lost: time.Minute})
	if len(q.Firings) != 1 || q.Firings[0].Campaign != "spring" || q.Firings[0].Run == "" || due() {
		t.Errorf("%+v; due: %v", q, due())
	}
	runs := c.runs()
	if len(runs) != 1 || runs[0].ID() != q.Firings[0].Run || runs[0].State != campaign.Cancelled {
		t.Fatalf("runs = %+v, want one, cancelled, that stands for the firing", runs)
	}
	if report, err := reporting.Build(t.Context(), c.ledger, runs[0]); err != nil || report.Rows != 0 {
		t.Errorf("its report: %+v %v", report, err)
	}
	if q := quarantine(QuarantineOptions{Lost: time.Minute}); len(q.Firings) != 0 {
		t.Errorf("closed twice: %+v", q)
	}
}
