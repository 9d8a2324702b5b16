package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
)

func noting(n *notes) *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }

// fired is a ledger with the scheduled runs of one campaign.
type fired struct {
	campaign.Ledger
	runs  []campaign.Run
	asked campaign.RunFilter
	fault error
}

func (f *fired) Runs(_ context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	f.asked = w
	return f.runs, f.fault
}

// A firing of 09:00 in UTC, and how late it is still launched.
func TestAFiringIsDueWithinItsGrace(t *testing.T) {
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	importing := campaign.Run{State: campaign.Importing, CreatedAt: nine.Add(-day), Launch: campaign.FiringKey + "K"}
	done := campaign.Run{State: campaign.Finished, CreatedAt: nine.Add(time.Second)}
	before := campaign.Run{State: campaign.Finished, CreatedAt: nine.Add(-day)}
	for _, tt := range []struct {
		name, schedule string
		written        time.Time
		runs           []campaign.Run
		now            time.Time
		due            bool
		at             time.Time
	}{
		{"on the instant", "", nine.Add(-time.Hour), nil, nine, true, nine},
		{"a moment before", "", nine.Add(-time.Hour), nil, nine.Add(-time.Second), false, time.Time{}},
		{"at the end of the default grace", "", nine.Add(-time.Hour), nil, nine.Add(30 * time.Minute), true, nine},
		{"beyond the default grace", "", nine.Add(-time.Hour), nil, nine.Add(30*time.Minute + time.Second), false, nine},
		{"within its own grace", ", grace: 2h", nine.Add(-time.Hour), nil, nine.Add(2 * time.Hour), true, nine},
		{"beyond its own grace", ", grace: 2h", nine.Add(-time.Hour), nil, nine.Add(2*time.Hour + time.Second), false, nine},
		{"late, and it runs late", ", misfire: run", nine.Add(-time.Hour), nil, nine.Add(20 * time.Hour), true, nine},
		{"late, and it is left out", ", misfire: skip", nine.Add(-time.Hour), nil, nine.Add(20 * time.Hour), false, nine},
		{"written afterwards", "", nine.Add(time.Minute), nil, nine.Add(2 * time.Minute), false, time.Time{}},
		{"fired already", "", nine.Add(-time.Hour), []campaign.Run{done}, nine.Add(time.Minute), false, time.Time{}},
		{"fired the day before", "", nine.Add(time.Minute), []campaign.Run{before}, nine.Add(2 * time.Minute), true, nine},
		{"its launch was interrupted", "", nine.Add(-time.Hour), []campaign.Run{importing}, nine.Add(10 * time.Hour), true, nine.Add(-day)},
	} {
		src := "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {file: l.csv}\nschedule: {cron: \"0 9 * * *\", timezone: UTC" + tt.schedule + "}\n"
		file := write(t, "spring.yaml", src)
		if err := os.Chtimes(file, tt.written, tt.written); err != nil {
			t.Fatal(err)
		}
		s, err := readScheduled(file)
		if err != nil {
			t.Fatal(err)
		}
		l := &fired{runs: tt.runs}
		firing, due, err := (&Daemon{ledger: l}).due(t.Context(), s, tt.now)
		if err != nil || due != tt.due || !firing.At.Equal(tt.at) {
			t.Errorf("%s: due %v at %v and %v, want %v at %v", tt.name, due, firing.At, err, tt.due, tt.at)
		}
		if tt.runs != nil && tt.runs[0].State == campaign.Importing && firing.Key != "K" {
			t.Errorf("%s: key %q, want K: the same firing", tt.name, firing.Key)
		}
		if want := (campaign.RunFilter{Campaign: "spring", Fired: true, Limit: 1}); l.asked != want {
			t.Errorf("asked for %+v, want %+v", l.asked, want)
		}
		l.fault = errors.New("away")
		if _, due, err := (&Daemon{ledger: l}).due(t.Context(), s, tt.now); !errors.Is(err, l.fault) || due {
			t.Errorf("a ledger that is away: due %v and %v, want %v", due, err, l.fault)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if _, due, err := (&Daemon{ledger: &fired{}}).due(t.Context(), s, tt.now); !errors.Is(err, os.ErrNotExist) || due {
			t.Errorf("a file that is gone: due %v and %v, want that it does not exist", due, err)
		}
	}
}

// Each reason for which an interrupted import is left alone.
func TestOnlyAnAbandonedImportIsTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 15 * time.Second
		log := &notes{}
		l := &fired{runs: []campaign.Run{
			{No: 1, Campaign: "abandoned", State: campaign.Importing, CreatedAt: time.Now().Add(-lease)},
			{No: 2, Campaign: "young", State: campaign.Importing, CreatedAt: time.Now().Add(-lease + 1)},
			{No: 3, Campaign: "followed", State: campaign.Importing, Parent: 1, CreatedAt: time.Now().Add(-time.Hour)},
			{No: 4, Campaign: "ready", State: campaign.Ready, CreatedAt: time.Now().Add(-time.Hour)},
		}}
		c := DefaultConfig()
		d := &Daemon{cfg: c, ledger: l, log: noting(log)}
		launches := newLauncher(d)
		d.takeUp(t.Context(), launches, nil)
		launches.running.Wait()
		if want := (campaign.RunFilter{Unfinished: true}); l.asked != want {
			t.Errorf("asked for %+v, want %+v", l.asked, want)
		}
		said := strings.Join(log.lines(""), "")
		for name, want := range map[string]bool{"abandoned-1": true, "young-2": false, "followed-3": false, "ready-4": false} {
			if got := strings.Contains(said, name); got != want {
				t.Errorf("%s is taken up: %v, want %v; the log says %s", name, got, want, said)
			}
		}
	})
}

func TestAFiringIsKnownByItsKey(t *testing.T) {
	got := (&Daemon{cfg: DefaultConfig(), owner: "me"}).launch("f.yaml", cronKey+plan.Firing{Key: "k"}.Key)
	if got.File != "f.yaml" || got.Key != campaign.FiringKey+"k" || got.Owner != "me" || got.Lease != 15*time.Second || !got.NoWait || got.New {
		t.Errorf("launch = %+v, want the file, the key, the owner, the lease, and no waiting", got)
	}
}

// A quarantine closes the firing that would be made now, unless a run of the ledger is that firing.
func TestAQuarantineKnowsAFiringByCampaignAndKey(t *testing.T) {
	folder := t.TempDir()
	file := folder + "/spring.yaml"
	src := "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {file: l.csv}\nschedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n"
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	written := time.Now().AddDate(0, 0, -2) // a day has begun since
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	all, err := ReadSchedule(folder)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d schedules and %v, want 1", len(all), err)
	}
	config, l := &Config{Campaigns: folder}, &fired{}
	firing, due, err := (&Daemon{cfg: config, ledger: l}).due(t.Context(), all[0], time.Now())
	if err != nil || !due {
		t.Fatalf("due %v and %v, want it due", due, err)
	}
	key := campaign.FiringKey + firing.Key
	for _, tt := range []struct {
		name string
		runs []campaign.Run
		want int
	}{
		{"no run", nil, 1},
		{"another firing of the campaign", []campaign.Run{{Campaign: "spring", Launch: campaign.FiringKey + "other", ListName: "l.csv"}}, 1},
		{"the firing of another campaign", []campaign.Run{{Campaign: "summer", Launch: key, ListName: "l.csv"}}, 1},
		{"the firing itself", []campaign.Run{{Campaign: "summer", Launch: key}, {Campaign: "spring", Launch: key, ListName: "l.csv"}}, 0},
		{"the firing itself, before others", []campaign.Run{{Campaign: "spring", Launch: key, ListName: "l.csv"}, {Campaign: "summer", Launch: key}}, 0},
		{"the stand-in of an earlier quarantine", []campaign.Run{{Campaign: "spring", Launch: key, ListName: lostList}}, 1},
	} {
		q := Quarantined{DryRun: true}
		if err := q.closeFirings(t.Context(), config, l, tt.runs, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		if len(q.Firings) != tt.want {
			t.Errorf("%s: %d firings are closed, want %d", tt.name, len(q.Firings), tt.want)
		}
	}
	l.fault = errors.New("disk full")
	if err := (&Quarantined{DryRun: true}).closeFirings(t.Context(), config, l, nil, slog.New(slog.DiscardHandler)); !errors.Is(err, l.fault) {
		t.Errorf("with a ledger that fails: got %v, want %v", err, l.fault)
	}
}
