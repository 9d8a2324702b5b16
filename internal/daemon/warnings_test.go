package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/drops"
	"campaignd/internal/operator"
	"campaignd/internal/schedule"
)

// hushed is a list that each way to launch is warned of, and that no log may quote.
const hushed = "phone,first_name,order,hush_consent\n+2348031200001,#N/A,{{hush}},yes\n+2348031200002,#N/A,B-2,no\n"

// Nobody sees a check before a launch that a request, a schedule or a folder makes.
func TestEveryLaunchLogsItsWarningsByKind(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	c.config.Campaigns = c.dir
	for name, through := range map[string]func(*Daemon, string, string) error{
		"request": func(d *Daemon, path, list string) error {
			_, err := d.launchList(t.Context(), byRequest, operator.Upload{Campaign: path, List: list, Another: true, SendAgain: true, By: "anna"})
			return err
		},
		"firing": func(d *Daemon, path, _ string) error {
			s, err := readScheduled(path)
			if err != nil {
				return err
			}
			e, err := d.engine(0)
			if err != nil {
				return err
			}
			return d.lookAndFire(t.Context(), s, e)
		},
		"drop": func(d *Daemon, _, list string) error {
			_, err := c.dropped(d, "drop", list)
			return err
		},
	} {
		more := ""
		if name == "firing" {
			more = "schedule: {cron: \"0 * * * *\", misfire: run, grace: 90m}\n"
		}
		path := c.campaign(c.dir, name, more, 2)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, strings.NewReplacer("order_update", "spring_sale", "UTILITY", "MARKETING",
			`order }}"]}`, `order }}"], buttons: [{type: url, text: x}]}`).Replace(string(text)))
		list := filepath.Join(c.dir, name+".csv")
		put(t, list, hushed)
		makeDue(t, path)
		d, log := c.replica(), &notes{}
		d.log = logTo(log)
		d.schedule = d.newScheduler()
		if err := through(d, path, list); err != nil {
			t.Errorf("%s: got %v, want a run", name, err)
		}
		lines := strings.Join(log.lines("a launch has a warning"), "\n")
		for _, want := range []string{"kind=suspect_value count=2", "kind=suspect_value count=1", "kind=unused_consent"} {
			if strings.Count(lines, want) != 1 {
				t.Errorf("%s: got %q, want one line with %s", name, lines, want)
			}
		}
		if all := strings.Join(log.lines(""), "\n"); strings.Contains(all, "hush") || strings.Contains(all, "N/A") {
			t.Errorf("%s: got %q, want nothing of the list", name, all)
		}
	}
}

// dropped launches a list as a file that was dropped for a campaign.
func (c *cluster) dropped(d *Daemon, name, list string) (campaign.Run, error) {
	c.Helper()
	e, err := d.engine(0)
	if err != nil {
		c.Fatal(err)
	}
	l := &dropLauncher{d: d, e: e, service: &recent{Service: d.client}, folder: schedule.NewFolder(c.dir)}
	return l.launch(c.Context(), drops.Request{Campaign: name, List: list, Key: "drop 1",
		Rejects: filepath.Join(c.TempDir(), "rejected.csv")})
}

// Nobody can be sent to: another try of the same bytes changes nothing.
func TestAListWithoutARowIsRefusedWithTheReason(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	c.config.Campaigns = c.dir
	path := c.campaign(c.dir, "spring", "schedule: {cron: \"0 * * * *\", misfire: run, grace: 90m}\n", 2)
	list := filepath.Join(c.dir, "spring.csv")
	put(t, list, "phone,first_name,order\nnobody,A,1\nno one,B,2\n+2348031200001,,3\n")
	makeDue(t, path)
	d := c.replica()
	d.log = slog.New(slog.DiscardHandler)
	d.schedule = d.newScheduler()
	_, err := c.dropped(d, "spring", list)
	const reason = "none of the 3 rows can be sent: "
	var refused *drops.Refused
	if !errors.As(err, &refused) || refused.Code != launch.RefusedList || !strings.Contains(refused.Message, "spring.csv: "+reason) ||
		len(refused.Findings) != 1 {
		t.Errorf("dropped: got %v, want an invalid_list with one finding, %q", err, reason)
	}

	s, err := readScheduled(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lookAndFire(t.Context(), s, e); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("fired: got %v, want %q", err, reason)
	}
	late := time.Now().Add(91 * time.Minute)
	if f, err := d.schedule.Look(t.Context(), s, late); err != nil || f != nil && f.At.Before(time.Now()) {
		t.Errorf("after its grace: got %v and %v, want no launch of the firing again", f, err)
	}
	all, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring", Until: time.Now()})
	if err != nil || len(all) != 1 || all[0].Outcome != campaign.FiringFailed || !strings.Contains(all[0].Detail, reason) {
		t.Errorf("got the firings %+v and %v, want one that failed with %q", all, err, reason)
	}
	if _, err := os.Stat(list); err != nil || len(c.runs()) != 0 {
		t.Errorf("got %v and the runs %v, want the list in its place and no run", err, c.runs())
	}
}

// The ledger says which run a draft was launched as from the moment the run exists, so a process
// that dies before it answers leaves no draft that could be sent again.
func TestADraftHasItsRunBeforeItsLaunchEnds(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	d := c.replica()
	path := c.campaign(c.dir, "spring", "", 2)
	dr := campaign.Draft{ID: "aa", Owner: "ann", Campaign: "spring", Source: []byte{}, CreatedAt: time.Now()}
	if err := d.ledger.AddDraft(t.Context(), dr, time.Time{}, 9); err != nil {
		t.Fatal(err)
	}
	out, err := d.launchList(t.Context(), byRequest, operator.Upload{Campaign: path, Draft: dr.ID, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.ledger.Draft(t.Context(), dr.ID); err != nil || got.Run != out.Run.ID {
		t.Errorf("got a draft with the run %q (%v), want %s", got.Run, err, out.Run.ID)
	}
}
