package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// Every message is accepted and fails later, because the account is not paid for. Its statuses hold
// the account: at most the messages of 3 s more are posted. An event that the account is active
// again lets the run go on. The list is too long to come to its end meanwhile, on any machine.
func TestAPaymentProblemStopsTheAccountInSeconds(t *testing.T) {
	t.Parallel() // it waits
	const rows = 10_000
	c := newCluster(t, "STANDARD", 15*time.Second)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var company string
	d, service := c.live(ctx, func(o *sandbox.Options) { company = o.Connections[0].Company })
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
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(longWait); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				select {
				case r := <-ended:
					t.Fatalf("the run ended with %v and totals %v, want that %s", r.err, r.Report.Totals, what)
				default:
					t.Fatalf("got %d posts and nothing more within %v, want that %s", posts(), longWait, what)
				}
			}
		}
	}
	said := make(chan string, 1)
	go func() {
		r, err := d.RunCampaign(ctx, RunOptions{File: c.campaign(t.TempDir(), "orders", "", rows), Settle: 10 * time.Minute,
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
	until("100 messages are posted", func() bool { return posts() >= 100 })
	if err := service.SetAccount(company, "unpaid"); err != nil {
		t.Fatal(err)
	}
	watched := throttletest.Watch()
	until("a message fails", func() bool {
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
	until("the progress says held", func() bool {
		select {
		case detail = <-said:
		default:
		}
		return detail != ""
	})
	for _, want := range []string{"everything that is sent from business account conn_1 is held since", "(131042)",
		"`campaignd holds lift account conn_1` ends it earlier"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the progress says %q, want %q in it", detail, want)
		}
	}
	stopped, since := posts(), time.Now()
	until("no message is posted for 2 s", func() bool {
		if now := posts(); now != stopped {
			stopped, since = now, time.Now()
		}
		return time.Since(since) >= 2*time.Second
	})
	overslept := watched()
	if more, most := stopped-failed, 3*69; stopped >= rows || more > most && overslept <= throttletest.Busy {
		t.Errorf("%d messages were posted, %d after the first failed, want at most %d, and less than %d", stopped, more, most, rows)
	}
	if err := service.SetAccount(company, "active"); err != nil {
		t.Fatal(err)
	}
	recovered := time.Now()
	until("the run goes on", func() bool { return posts() > stopped+20 })
	t.Logf("%d posts before the first failure was known, %d after; recovered in %v; overslept by %v",
		failed, stopped-failed, time.Since(recovered), overslept)
	stop()
	if r := <-ended; r.err != nil || len(r.Report.Holds) != 0 {
		t.Errorf("the run ended with %v, holds %v; want nil and nothing held", r.err, r.Report.Holds)
	}
}
