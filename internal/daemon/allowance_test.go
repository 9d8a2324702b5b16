//go:build long

package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// The same run under three plans: the service's 402 alone, an allowance that is known, and one that
// is raised. Nothing is sent above the allowance, nobody is refused for it, and a raised plan lifts
// what the 402 held.
func TestThePlanIsNeverExceeded(t *testing.T) {
	t.Parallel() // it waits
	c := newCluster(t, "HIGH", 15*time.Second)
	cfg := *c.config
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "plan.db")
	cfg.Listen.Public, cfg.Webhooks.Secrets = "127.0.0.1:0", []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	file := c.campaign(t.TempDir(), "spring", "", 150)
	for _, step := range []struct {
		monthly, more int64
		billing       string             // path of billing_usage
		ends          campaign.LimitedBy // what the lane is limited by at the end; "": the run ends
		accepted      int64
	}{
		{0, 50, "/absent", "hold", 50},
		{100, 500, "/absent", "allowance", 100}, // it is not marketing: the reserve too
		{0, 20, "/api/v1/billing/usage", "allowance", 120},
		{200, 500, "/api/v1/billing/usage", "", 150},
	} {
		cfg := cfg
		cfg.Service.Assumed.Paths = map[string]string{"billing_usage": step.billing}
		cfg.Plan = config.Plan{MonthlyMessages: step.monthly, Resets: config.Resets{Day: 1, Timezone: "UTC"}, Reserve: 0.1}
		for _, company := range []string{"", "co_1"} {
			if err := c.service.SetAllowance(company, step.more); err != nil && company == "" {
				t.Fatal(err)
			}
		}
		d, err := New(t.Context(), &cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		billed := step.monthly == 0 && step.billing != "/absent"
		want := func(w campaign.Wanted) {
			if _, err := d.ledger.SetWanted(t.Context(), 1, w, ""); err != nil {
				t.Fatal(err)
			}
		}
		if billed { // a message that is sent while the billing is asked would count twice
			want(campaign.WantPause)
		}
		go func() {
			_, err := d.RunCampaign(ctx, RunOptions{File: file})
			ended <- err
		}()
		for known, end := false, time.Now().Add(longWait); billed && !known; time.Sleep(20 * time.Millisecond) {
			if _, known, err = d.quotas.PlanOf(ctx, "co_1", time.Now()); err != nil || time.Now().After(end) {
				t.Fatalf("the billing: %v, known: %v; want an allowance within %v", err, known, longWait)
			}
		}
		if billed {
			want(campaign.WantRun)
		}
		if step.ends != "" {
			waitLane(t, d, step.ends)
			for deadline := time.Now().Add(longWait); accepted(t, d) < step.accepted && time.Now().Before(deadline); {
				time.Sleep(50 * time.Millisecond) // what an intent granted may still be queued
			}
			stop()
		}
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a plan of %d: the run ended with %v, want nil", step.monthly, err)
		}
		stop()
		if got := accepted(t, d); got != step.accepted {
			all, _, err := d.ledger.Tallies(t.Context(), 1)
			t.Errorf("a plan of %d: got %d accepted, want %d; all: %+v, %v", step.monthly, got, step.accepted, all, err)
		}
		holds, err := d.ledger.Holds(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		_, month := plan.Allowance{Day: 1, Zone: time.UTC}.Period(time.Now())
		if held := len(holds) == 1 && holds[0].Until.Equal(month); held != (step.ends == "hold") {
			t.Errorf("a plan of %d: got the holds %+v, want one until %v if the service alone says the end", step.monthly, holds, month)
		}
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}
}

// accepted counts the messages of run 1 that the service took. It fails if one was refused.
func accepted(t *testing.T, d *Daemon) (n int64) {
	t.Helper()
	all, _, err := d.ledger.Tallies(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		switch one.Status {
		case campaign.Accepted, campaign.Sent, campaign.Delivered:
			n += one.N
		case campaign.Refused:
			t.Errorf("got %d messages refused, want none", one.N)
		}
	}
	return n
}

// waitLane waits until the lane of run 1 is limited by this.
func waitLane(t *testing.T, d *Daemon, by campaign.LimitedBy) {
	t.Helper()
	var lanes []campaign.LaneReport
	for deadline := time.Now().Add(longWait); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var err error
		if lanes, err = d.ledger.Lanes(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if len(lanes) > 0 && lanes[len(lanes)-1].LimitedBy == by {
			return
		}
	}
	t.Fatalf("after %v the lanes are %+v, want one limited by %s", longWait, lanes, by)
}
