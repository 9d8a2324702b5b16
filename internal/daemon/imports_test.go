package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/schedule"
	"campaignd/recipients"
)

// watched counts the requests to the service.
func (c *cluster) watched() *atomic.Int64 {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		c.service.ServeHTTP(w, r)
	}))
	c.Cleanup(server.Close)
	c.config.Service.BaseURL = server.URL
	return &calls
}

// fourFire lets four replicas fire what is due in the folder, and continue imports.
func (c *cluster) fourFire(dir string) {
	c.Helper()
	var firing sync.WaitGroup
	for range 4 {
		d := c.replica()
		d.cfg.Campaigns = dir
		all, err := schedule.Read(dir)
		if err != nil {
			c.Fatal(err)
		}
		e, err := d.engine(0)
		if err != nil {
			c.Fatal(err)
		}
		firing.Go(func() {
			l := schedule.NewLauncher(d.schedule)
			for _, s := range all {
				err := d.lookAndFire(c.Context(), s, e)
				var refused *launch.PreflightError
				if err != nil && !errors.Is(err, campaign.ErrTaken) && !errors.As(err, &refused) {
					c.Errorf("lookAndFire = %v, want nil, taken, or a preflight", err)
				}
			}
			d.schedule.ResumeImports(c.Context(), l, e, all)
			l.Wait()
		})
	}
	firing.Wait()
}

// A firing whose preflight fails is tried once by four replicas together, and at once when its
// campaign file is corrected.
func TestFourReplicasMakeOnePreflight(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	calls := c.watched()
	file := c.campaign(c.dir, "spring", dailySchedule, 10)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		makeDue(t, file)
	}
	write(strings.Replace(string(good), `, "{{ .order }}"]`, "]", 1)) // the template has two variables
	for range 3 {
		c.fourFire(c.dir)
	}
	if n := calls.Load(); n == 0 || n > 3 || len(c.runs()) != 0 {
		t.Errorf("%d requests of twelve tries, %d runs, want those of one preflight, 1 to 3, and no run", n, len(c.runs()))
	}
	write(string(good))
	c.fourFire(c.dir)
	if runs := c.runs(); len(runs) != 1 || runs[0].State != campaign.Ready {
		t.Errorf("after the correction: %+v, want one run, ready", runs)
	}
}

// stuckImport makes a scheduled run whose import was interrupted an hour ago and whose list is
// gone.
func (c *cluster) stuckImport() (campaign.Run, string) {
	c.Helper()
	file := c.campaign(c.dir, "spring", dailySchedule, 10)
	makeDue(c.T, file)
	all, err := schedule.Read(c.dir)
	if err != nil || len(all) != 1 {
		c.Fatalf("%d schedules, %v; want 1", len(all), err)
	}
	list := all[0].List()
	run, err := c.ledger.CreateRun(c.Context(), campaign.Run{Campaign: "spring", ListHash: "another", ListName: list,
		Launch: campaign.FiringKey + "the last", Definition: all[0].Source, Header: []string{"phone"}})
	if err != nil {
		c.Fatal(err)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(list, old, old); err != nil {
		c.Fatal(err)
	}
	c.ledger = aged{c.ledger}
	return run, file
}

// A stuck import says why, is launched again when its list is corrected, and ends.
func TestACorrectedListIsAnotherFiring(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run, _ := c.stuckImport()
	c.fourFire(c.dir)
	stuck, err := c.ledger.Run(t.Context(), run.No)
	if err != nil || stuck.State != campaign.Importing || !strings.Contains(stuck.Detail, "not here") {
		t.Fatalf("the import: %s %q, %v; want importing, with why", stuck.State, stuck.Detail, err)
	}
	if err := os.Chtimes(stuck.ListName, time.Now().Add(time.Second), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	c.fourFire(c.dir)
	runs := c.runs()
	key := fmt.Sprintf("%s after %d", run.Launch, run.No)
	if len(runs) != 2 || runs[0].State != campaign.Ready || runs[0].Launch != key || runs[0].Rows != 10 {
		t.Fatalf("runs %+v; want another firing, ready with 10 rows", runs)
	}
	if runs[1].State != campaign.RunStateFailed || !strings.Contains(runs[1].Detail, "launched again") {
		t.Errorf("the stuck import: %s %q; want failed, launched again", runs[1].State, runs[1].Detail)
	}
}

// A stuck import ends at its grace, and does not delay the schedule, whatever its misfire policy.
func TestAStuckImportEndsAtItsGrace(t *testing.T) {
	for _, policy := range []string{"skip", "run"} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, "STANDARD", 15*time.Second)
			run, file := c.stuckImport()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c.fourFire(c.dir)
			soon := strings.Replace(string(text), "misfire: run, grace: 48h", "misfire: "+policy+", grace: 1s", 1)
			if soon == string(text) {
				t.Fatalf("the schedule is %q, want one with misfire: run, grace: 48h", text)
			}
			if err := os.WriteFile(file, []byte(soon), 0o600); err != nil {
				t.Fatal(err)
			}
			c.fourFire(c.dir)
			r, err := c.ledger.Run(t.Context(), run.No)
			if err != nil || r.State != campaign.RunStateFailed || !strings.Contains(r.Detail, "grace of 1s") {
				t.Errorf("the stuck import: %s %q, %v; want failed at its grace", r.State, r.Detail, err)
			}
		})
	}
}

// failedImport makes a scheduled run whose import failed for a reason that is over.
func (c *cluster) failedImport() {
	c.Helper()
	file := c.campaign(c.dir, "spring", dailySchedule, 10)
	list := strings.TrimSuffix(file, ".yaml") + ".csv"
	old := time.Now().Add(-24 * time.Hour)
	source, err := os.ReadFile(file)
	hash, _, hashErr := recipients.Hash(list)
	if err = errors.Join(err, hashErr, os.Chtimes(list, old, old)); err != nil {
		c.Fatal(err)
	}
	run, err := c.ledger.CreateRun(c.Context(), campaign.Run{Campaign: "spring", Launch: campaign.FiringKey + "the last", ListHash: hash,
		ListName: list, Definition: source, Header: []string{"phone", "first_name", "order"}, Template: "order_update", Language: "en_US"})
	if err == nil {
		_, err = c.ledger.SetState(c.Context(), run.No, []campaign.State{campaign.Importing}, campaign.Importing, "", "the service was away")
	}
	if err != nil {
		c.Fatal(err)
	}
}

// importing returns what lets a replica with the campaigns of a folder continue the imports.
func (c *cluster) importing(dir string) func() {
	c.Helper()
	d := c.replica()
	all, err := schedule.Read(dir)
	if err != nil || len(all) != 1 {
		c.Fatalf("%d schedules and %v, want 1", len(all), err)
	}
	e, err := d.engine(0)
	if err != nil {
		c.Fatal(err)
	}
	return func() {
		l := schedule.NewLauncher(d.schedule)
		d.schedule.ResumeImports(c.Context(), l, e, all)
		l.Wait()
	}
}

// firstOnly is a ledger that stores rows of the first run only.
type firstOnly struct{ campaign.Ledger }

func (f firstOnly) AppendRows(ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, s []campaign.Segment) error {
	if no > 1 {
		return errFault
	}
	return f.Ledger.AppendRows(ctx, no, after, rows, s)
}

// A replica launches the corrected campaign of a stuck import again. Another replica, which has the
// files of before and could finish the import now, does not: neither meanwhile nor afterwards, also
// if the new import fails.
func TestACorrectedImportIsFinishedNowhere(t *testing.T) {
	for _, want := range []campaign.State{campaign.Ready, campaign.Importing} {
		c := newCluster(t, "STANDARD", 15*time.Second)
		c.failedImport()
		if c.ledger = (aged{c.ledger}); want == campaign.Importing {
			c.ledger = firstOnly{c.ledger}
		}
		before := c.importing(c.dir)
		var asked atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.CompareAndSwap(false, true) {
				before()
			}
			c.service.ServeHTTP(w, r)
		}))
		defer server.Close()
		c.config.Service.BaseURL = server.URL
		corrected := t.TempDir()
		c.campaign(corrected, "spring", dailySchedule, 10)
		c.importing(corrected)()
		before()
		runs := c.runs()
		if !asked.Load() || len(runs) != 2 || runs[0].State != want {
			t.Fatalf("asked the service %v, runs %+v; want it asked, and two runs, the newest %s", asked.Load(), runs, want)
		}
		if runs[1].State != campaign.RunStateFailed || !strings.Contains(runs[1].Detail, "launched again") {
			t.Errorf("the new import is %s: the stuck one is %s %q; want it failed, launched again", want, runs[1].State, runs[1].Detail)
		}
	}
}
