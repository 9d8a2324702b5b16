//go:build long

package daemon

import (
	"context"
	"net/http"
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
