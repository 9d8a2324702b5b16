package daemon

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// Every message is accepted and fails later, because the account is not paid for. Its statuses hold
// the account: at most the messages of 3 s more are posted. An event that the account is active again
// lets the run go on.
func TestAPaymentProblemStopsTheAccountInSeconds(t *testing.T) {
	t.Parallel() // it waits
	c := newCluster(t, "STANDARD", 15*time.Second)
	config := *c.config
	config.Listen = Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	config.Ledger = "sqlite:" + filepath.Join(c.dir, "ill.db")
	config.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	scene := sandbox.Demo()
	api := httptest.NewUnstartedServer(nil)
	config.Service.BaseURL = "http://" + api.Listener.Addr().String()
	d, err := New(t.Context(), &config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	scene.WebhookURL, scene.WebhookSecret = d.PublicURL(), sandbox.DemoSecret
	service, err := sandbox.New(scene)
	if err != nil {
		t.Fatal(err)
	}
	api.Config.Handler = service
	api.Start()
	t.Cleanup(api.Close)
	ran := make(chan error, 1)
	ctx := t.Context()
	go func() { ran <- service.Run(ctx) }()
	company := scene.Connections[0].Company
	if company == "" {
		company = "co_1"
	}

	type result struct {
		RunResult
		err error
	}
	ended := make(chan result, 1)
	posts := func() (n int) {
		for _, p := range service.Truth().Posts {
			n += p
		}
		return n
	}
	until := func(what string, most time.Duration, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(most); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				select {
				case r := <-ended:
					t.Fatalf("the run ended with %v and totals %v, want that %s", r.err, r.Report.Totals, what)
				default:
					t.Fatalf("got %d posts and nothing more within %v, want that %s", posts(), most, what)
				}
			}
		}
	}
	said := make(chan string, 1)
	go func() {
		r, err := d.RunCampaign(ctx, RunOptions{File: c.campaign(t.TempDir(), "ill", "", 700), Settle: 5 * time.Second,
			Progress: func(p Progress) {
				if p.Phase == "held" {
					select {
					case said <- p.Detail:
					default:
					}
				}
			}})
		ended <- result{r, err}
	}()
	until("100 messages are posted", 20*time.Second, func() bool { return posts() >= 100 })
	if err := service.SetAccount(company, "unpaid"); err != nil {
		t.Fatal(err)
	}
	until("a message fails", 20*time.Second, func() bool {
		tallies, _, err := d.ledger.Tallies(ctx, 1)
		if err != nil {
			t.Fatalf("Tallies = %v, want nil", err)
		}
		for _, x := range tallies {
			if x.Status == campaign.Failed && x.Reason == "131042" {
				return true
			}
		}
		return false
	})
	failed := posts()
	detail := ""
	select {
	case detail = <-said:
	case <-time.After(10 * time.Second):
	}
	for _, want := range []string{"everything that is sent from business account conn_1 is held since", "(131042)",
		"`campaignd holds lift account conn_1` ends it earlier"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the progress says %q, want %q in it", detail, want)
		}
	}
	time.Sleep(3 * time.Second)
	stopped := posts()
	if more, most := stopped-failed, 3*69; more > most {
		t.Errorf("%d messages were posted after the first failed, want at most %d", more, most)
	}
	time.Sleep(2 * time.Second)
	if more := posts() - stopped; more != 0 {
		t.Errorf("%d messages were posted while the account was held, want 0", more)
	}
	if err := service.SetAccount(company, "active"); err != nil {
		t.Fatal(err)
	}
	healed := time.Now()
	until("the run goes on", 10*time.Second, func() bool { return posts() > stopped })
	t.Logf("%d posts before the first failure was known, %d after; healed in %v", failed, stopped-failed, time.Since(healed))
	r := <-ended
	if r.err != nil || r.Report.Totals[campaign.Queued] != 0 || len(r.Report.Holds) != 0 {
		t.Errorf("the run ended with %v, totals %v, holds %v; want all sent and nothing held", r.err, r.Report.Totals, r.Report.Holds)
	}
}
