package daemon

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// live starts a daemon with a ledger and an intake of its own, and a service with its first
// connection that posts webhooks to it until the test ends.
func (c *cluster) live(ctx context.Context, change func(*sandbox.Options)) (*Daemon, *sandbox.Sandbox) {
	c.Helper()
	cfg := *c.config
	cfg.Listen = config.Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "live.db")
	cfg.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	scene := sandbox.Demo()
	scene.Connections = scene.Connections[:1]
	scene.Connections[0].Throughput = "STANDARD" // 69/s
	change(&scene)
	api := httptest.NewUnstartedServer(nil)
	cfg.Service.BaseURL = "http://" + api.Listener.Addr().String()
	d, err := New(c.Context(), &cfg, Options{Log: c.log})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := d.Close(); err != nil {
			c.Errorf("Close = %v, want nil", err)
		}
	})
	scene.WebhookURL, scene.WebhookSecret = d.PublicURL(), sandbox.DemoSecret
	service, err := sandbox.New(scene)
	if err != nil {
		c.Fatal(err)
	}
	api.Config.Handler = service
	api.Start()
	c.Cleanup(api.Close)
	ran := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	c.Cleanup(func() {
		stop()
		<-ran
	})
	go func() { ran <- service.Run(ctx) }()
	return d, service
}

// Two of three recipients answer STOP: the run is paused with a sentence that says so, and the rest
// of its list is not sent. The list is too long to come to its end meanwhile, on any machine.
func TestManyStopsPauseTheRun(t *testing.T) {
	t.Parallel() // it waits
	if testing.Short() {
		t.Skip("the breaker is checked every 5 s")
	}
	const rows = 20_000
	c := newCluster(t, "STANDARD", 15*time.Second)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d, service := c.live(ctx, func(o *sandbox.Options) {
		o.Statuses.Stop, o.Statuses.StopAfter = 0.66, sandbox.Delay{Median: 100 * time.Millisecond}
	})
	ended := make(chan error, 1)
	go func() {
		_, err := d.RunCampaign(ctx, RunOptions{File: c.campaign(t.TempDir(), "storm", "", rows), Settle: time.Second})
		ended <- err
	}()
	var run campaign.Run
	for deadline := time.Now().Add(longWait); run.State != campaign.Paused; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the run is %s after %v with %d opt-outs, want it paused", run.State, longWait, len(service.Truth().OptOuts))
		}
		all, err := d.ledger.Runs(ctx, campaign.RunFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			run = all[0]
		}
	}
	if run.Reason != campaign.PausedByBreaker || !strings.Contains(run.Detail, " recipients to whom it delivered since ") {
		t.Errorf("paused with %q, %q; want the reason breaker and how many opted out", run.Reason, run.Detail)
	}
	tallies, _, err := d.ledger.Tallies(ctx, run.No)
	if err != nil {
		t.Fatal(err)
	}
	queued := int64(0)
	for _, x := range tallies {
		if x.Status == campaign.Queued {
			queued += x.N
		}
	}
	if queued < rows/10 {
		t.Errorf("%d of %d rows are queued after the pause, want most of them", queued, rows)
	}
	stop()
	<-ended
}
