package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/throttle/throttletest"
)

// closedNow is the window of a campaign that opens in two hours.
func closedNow() string {
	now := time.Now().UTC()
	return fmt.Sprintf("window: {hours: \"%02d:00-%02d:30\", timezone: UTC}\n", (now.Hour()+2)%24, (now.Hour()+2)%24)
}

// ready launches a campaign of rows with more in its file.
func (c *cluster) ready(name, more string, rows int) campaign.Run {
	c.Helper()
	launched, err := c.replica().schedule.Launch(c.campaign(c.dir, name, more, rows), "").Start(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return launched.Run
}

// begun leases the first segment of a run to an owner that has granted some of it and died.
func (c *cluster) begun(no campaign.RunNo, rows int64) {
	c.Helper()
	claim := campaign.Claim{Owner: "dead", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1, Lease: time.Hour}
	leases, err := c.ledger.Claim(c.Context(), claim)
	if err != nil || len(leases) != 1 {
		c.Fatalf("claimed %v, %v; want one segment", leases, err)
	}
	intent := campaign.Intent{Lease: leases[0], Connection: "conn_1", To: rows}
	if _, err := c.ledger.Intend(c.Context(), []campaign.Intent{intent}); err != nil {
		c.Fatal(err)
	}
}

// unsendable makes a run whose stored campaign this version refuses.
func (c *cluster) unsendable(state campaign.State) campaign.Run {
	c.Helper()
	run, err := c.ledger.CreateRun(c.Context(), campaign.Run{Campaign: "future", ListHash: string(state), Definition: []byte("name: [")})
	if err != nil {
		c.Fatal(err)
	}
	rows := []campaign.Delivery{{Run: run.No, Row: 1, To: "+2348030000000", Key: 2348030000000, Cells: []string{"+2348030000000"}}}
	if err := c.ledger.AppendRows(c.Context(), run.No, 0, rows, []campaign.Segment{{Run: run.No, Hi: 1}}); err != nil {
		c.Fatal(err)
	}
	if state == campaign.Importing {
		return run
	}
	if _, err := c.ledger.SetState(c.Context(), run.No, []campaign.State{campaign.Importing}, state, "", ""); err != nil {
		c.Fatal(err)
	}
	return run
}

// A cancelled run ends within 5 s in every state: by a sender of any run, and by the command alone
// when there is no sender.
func TestCancelEndsARunInEveryState(t *testing.T) {
	for name, make := range map[string]func(*cluster) campaign.Run{
		"importing":         func(c *cluster) campaign.Run { return c.interrupted("importing", 10) },
		"waiting window":    func(c *cluster) campaign.Run { return c.ready("window", closedNow(), 10) },
		"waiting approval":  func(c *cluster) campaign.Run { return c.ready("approval", "policies: {approval: true}\n", 10) },
		"ready":             func(c *cluster) campaign.Run { return c.ready("plain", "", 10) },
		"its sender died":   func(c *cluster) campaign.Run { r := c.ready("died", closedNow(), 10); c.begun(r.No, 4); return r },
		"refused":           func(c *cluster) campaign.Run { return c.unsendable(campaign.Ready) },
		"refused, running":  func(c *cluster) campaign.Run { return c.unsendable(campaign.Running) },
		"refused, imported": func(c *cluster) campaign.Run { return c.unsendable(campaign.Importing) },
		"paused": func(c *cluster) campaign.Run {
			r := c.ready("paused", "", 10)
			from := []campaign.State{campaign.Ready}
			if _, err := c.ledger.SetState(c.Context(), r.No, from, campaign.Paused, campaign.PausedByBreaker, "x"); err != nil {
				c.Fatal(err)
			}
			return r
		},
	} {
		for _, sender := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, sender %v", name, sender), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "STANDARD", 15*time.Second)
				run := make(c)
				if sender {
					c.send(nil)
					time.Sleep(300 * time.Millisecond) // the engine has looked at the run before
				}
				if sender && name == "ready" {
					return // it is sent within that time
				}
				began, watched := time.Now(), throttletest.Watch()
				if _, err := control.Cancel(t.Context(), c.ledger, run, ""); err != nil {
					t.Fatal(err)
				}
				if !sender {
					if _, err := endCancelled(t.Context(), c.ledger, run.No, 15*time.Second, 10*time.Second); err != nil {
						t.Fatal(err)
					}
				}
				var got campaign.Run
				c.until("the run has ended", func() bool {
					var err error
					if got, err = c.ledger.Run(context.WithoutCancel(t.Context()), run.No); err != nil {
						t.Fatal(err)
					}
					return got.State.Ended()
				})
				took := time.Since(began)
				if got.State != campaign.Cancelled {
					t.Errorf("%s: got it %s, want it cancelled", name, got.State)
				}
				throttletest.Soon(t, name+": the end", took, 5*time.Second, watched())
				tallies, _, err := c.ledger.Tallies(t.Context(), run.No)
				if err != nil {
					t.Fatal(err)
				}
				var rows int64
				for _, n := range tallies {
					rows += n.N
					if n.Status != campaign.Skipped && n.Status != campaign.Unknown {
						t.Errorf("%d rows are %s, want skipped and unknown only", n.N, n.Status)
					}
				}
				if rows != got.Rows || len(c.service.Truth().Posts) != 0 {
					t.Errorf("%d of %d rows counted, %d posts, want all rows and no post", rows, got.Rows, len(c.service.Truth().Posts))
				}
			})
		}
	}
}

// The import of a run that is cancelled meanwhile stops, and the launch returns the run.
func TestCancelStopsARunningImport(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	c.campaign(c.dir, "spring", "", 10000)
	l := c.replica().schedule.Launch(filepath.Join(c.dir, "spring.yaml"), "")
	cancelled := false
	l.Progress = func(phase string, rows int64) {
		if phase == "importing" && !cancelled {
			cancelled = true
			if _, err := control.Cancel(t.Context(), c.ledger, c.runs()[0], ""); err != nil {
				t.Error(err)
			}
		}
	}
	launched, err := l.Start(t.Context())
	if err != nil || launched.Imported || launched.Run.Wanted != campaign.WantCancel || launched.Run.Rows >= 10000 {
		t.Errorf("Start = %+v, %v; want no error, not Imported, Wanted cancel, fewer than 10000 rows", launched, err)
	}
	run, err := endCancelled(t.Context(), c.ledger, launched.Run.No, 15*time.Second, 10*time.Second)
	if err != nil || run.State != campaign.Cancelled {
		t.Errorf("the run is %s, %v; want cancelled", run.State, err)
	}
	problems, _, err := c.ledger.Audit(t.Context(), run.No, 5)
	if err != nil || len(problems) > 0 {
		t.Errorf("audit = %v and %v, want no problem", problems, err)
	}
}
