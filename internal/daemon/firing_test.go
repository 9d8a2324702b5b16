package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/schedule"
)

// lookAndFire launches the firing of s that is to be launched now.
func (d *Daemon) lookAndFire(ctx context.Context, s schedule.Scheduled, e *sender.Engine) error {
	f, err := d.schedule.Look(ctx, s, time.Now())
	if err != nil || f == nil {
		return err
	}
	return d.schedule.Fire(ctx, s, *f, e)
}

// outcome is what a test compares of a noted firing.
type outcome struct {
	Key     string
	Outcome campaign.FiringOutcome
	Detail  string
	Missed  int64
}

// Firings that come while a window is closed pile up as one run, in the ledger, the log and the
// metric.
func TestFiringsBehindAnUnfinishedRunAreSkipped(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	file := c.campaign(c.dir, "spring", "schedule: {cron: \"0 * * * *\", misfire: run, grace: 90m}\n", 3)
	makeDue(t, file)
	c.config.Campaigns = c.dir
	s, err := readScheduled(file)
	if err != nil {
		t.Fatal(err)
	}
	d, log := c.replica(), &notes{}
	d.log = logTo(log)
	d.schedule = d.newScheduler()
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lookAndFire(t.Context(), s, e); err != nil {
		t.Fatal(err)
	}
	hour := time.Now().UTC().Truncate(time.Hour)
	for i := range 3 { // two firings that come, and a look without one
		now := hour.Add(time.Duration(min(i, 1)+1) * time.Hour)
		if f, err := d.schedule.Look(t.Context(), s, now); f != nil || err != nil {
			t.Fatalf("look = %v and %v, want no launch", f, err)
		}
	}
	got, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []outcome
	for _, f := range got {
		outcomes = append(outcomes, outcome{f.At.Sub(hour).String(), f.Outcome, f.Detail, min(f.Missed, 1)})
	}
	want := []outcome{
		{"2h0m0s", campaign.FiringSkipped, "spring-1 is ready (`campaignd why spring-1`)", 0},
		{"1h0m0s", campaign.FiringSkipped, "spring-1 is ready (`campaignd why spring-1`)", 0},
		{"0s", campaign.FiringLaunched, "", 1},
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("firings -want +got:\n%s", diff)
	}
	if runs := c.runs(); len(runs) != 1 {
		t.Errorf("got %d runs, want 1", len(runs))
	}
	if n := len(log.lines("a firing was skipped")); n != 2 {
		t.Errorf("got %d lines of skipped firings, want 2", n)
	}
	missed := got[len(got)-1].Missed
	for o, want := range map[campaign.FiringOutcome]int64{campaign.FiringLaunched: 1, campaign.FiringSkipped: 2,
		campaign.FiringMissed: missed, campaign.FiringFailed: 0} {
		if n := d.schedule.Fired(o); n != want || o == campaign.FiringMissed && n == 0 {
			t.Errorf("%s: got a count of %d, want %d", o, n, want)
		}
	}
}

// The five doubts of a run keep no firing waiting, whatever its overlap says. One row that is still
// to be sent does, and so does a policy that sends doubts again.
func TestARunOfDoubtsAloneIsNoOverlap(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		left       int64
		want       campaign.FiringOutcome
	}{
		{"skip", "", 0, campaign.FiringLaunching},
		{"queue", ", overlap: queue", 0, campaign.FiringLaunching},
		{"cancel", ", overlap: cancel", 0, campaign.FiringLaunching},
		{"a queued row", "", 1, campaign.FiringSkipped},
		{"a deferred row", "", -1, campaign.FiringSkipped},
		{"doubts are sent again", "}\npolicies: {on_uncertain: resend", 0, campaign.FiringSkipped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, "STANDARD", 15*time.Second)
			s, err := readScheduled(c.campaign(c.dir, "spring", "schedule: {cron: \"0 * * * *\""+tt.more+"}\n", 9))
			if err != nil {
				t.Fatal(err)
			}
			launched, err := c.replica().schedule.Launch(s.File, "").Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ls, err := c.ledger.Claim(t.Context(), campaign.Claim{Owner: "dead", Connection: "conn_1", Runs: []campaign.RunNo{launched.Run.No},
				Max: 1, Lease: time.Hour})
			if err != nil || len(ls) != 1 {
				t.Fatalf("claim: %+v and %v, want one segment", ls, err)
			}
			l, posted := ls[0], 9-max(tt.left, 0)
			if _, err := c.ledger.Intend(t.Context(), []campaign.Intent{{Lease: l, Connection: "conn_1", From: 0, To: posted}}); err != nil {
				t.Fatal(err)
			}
			var results []campaign.Result
			for seq := range posted {
				r := campaign.Result{Run: l.Run, Seq: seq, Connection: "conn_1", Attempt: 1, Epoch: l.Epoch, At: time.Now(),
					Kind: campaign.ResultDoubt, Code: "time_out"}
				switch {
				case seq >= 5 && tt.left < 0:
					r.Kind, r.Code, r.NotBefore = campaign.ResultDeferred, "rate_limited", time.Now().Add(time.Hour)
				case seq >= 5:
					r.Kind, r.Code, r.MessageID = campaign.ResultAccepted, "", fmt.Sprintf("wamid.%d", seq)
				}
				results = append(results, r)
			}
			if err := c.ledger.Record(t.Context(), results); err != nil {
				t.Fatal(err)
			}
			s.Written = time.Now().Add(-time.Minute)
			if _, err := c.replica().schedule.Look(t.Context(), s, s.Cron.Next(time.Now()).At.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			firings, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
			if err != nil || len(firings) != 1 || firings[0].Outcome != tt.want {
				t.Errorf("got the firings %+v and %v, want one that is %s", firings, err, tt.want)
			}
			if run, err := c.ledger.Run(t.Context(), l.Run); err != nil || run.Wanted != campaign.WantRun {
				t.Errorf("the run: got wanted %s and %v, want run", run.Wanted, err)
			}
		})
	}
}

// readScheduled reads the campaign of one file of a folder.
func readScheduled(file string) (found schedule.Scheduled, err error) {
	all, err := schedule.Read(filepath.Dir(file))
	for _, s := range all {
		if s.File == file {
			return s, nil
		}
	}
	return found, errors.Join(err, fs.ErrNotExist)
}
