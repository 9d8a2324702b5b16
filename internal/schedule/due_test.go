package schedule

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
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
)

// fired is a ledger with the scheduled runs of one campaign.
type fired struct {
	campaign.Ledger
	runs    []campaign.Run
	firings []campaign.Firing
	asked   campaign.RunFilter // the first question for other runs
	fault   error
}

func (f *fired) Runs(_ context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	if w.Unfinished && w.Campaign != "" { // the runs that hold up a firing
		return nil, f.fault
	}
	if f.asked == (campaign.RunFilter{}) {
		f.asked = w
	}
	return f.runs, f.fault
}

func (f *fired) Firings(_ context.Context, w campaign.FiringFilter) (found []campaign.Firing, err error) {
	if w.Outcome != "" {
		return nil, f.fault
	}
	for _, firing := range f.firings {
		if !w.Open || firing.Outcome.Open() {
			found = append(found, firing)
		}
	}
	return found, f.fault
}

func (f *fired) Run(context.Context, campaign.RunNo) (campaign.Run, error) {
	return campaign.Run{}, errors.New("away")
}

func (f *fired) AcquireJob(context.Context, string, string, time.Duration) (campaign.JobLease, bool, error) {
	return campaign.JobLease{}, false, errors.New("away")
}

// The cases are a firing at 09:00 UTC and the latest time at which it is still launched.
func TestAFiringIsDueWithinItsGrace(t *testing.T) {
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	importing := campaign.Run{State: campaign.Importing, CreatedAt: nine.Add(-day), Launch: campaign.FiringKey + "K"}
	today := campaign.Run{State: campaign.Importing, CreatedAt: nine.Add(time.Second)}
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
		{"a minute late", "", nine.Add(-time.Hour), nil, nine.Add(time.Minute), true, nine},
		{"later than a minute", "", nine.Add(-time.Hour), nil, nine.Add(time.Minute + time.Second), false, time.Time{}},
		{"2 m 29 s late, with misfire: skip", ", misfire: skip, grace: 2h", nine.Add(-time.Hour), nil, nine.Add(149 * time.Second), false,
			time.Time{}},
		{"late, with misfire: run", ", misfire: run", nine.Add(-time.Hour), nil, nine.Add(30 * time.Minute), true, nine},
		{"beyond the default grace", ", misfire: run", nine.Add(-time.Hour), nil, nine.Add(30*time.Minute + time.Second), false, time.Time{}},
		{"within its own grace", ", misfire: run, grace: 2h", nine.Add(-time.Hour), nil, nine.Add(2 * time.Hour), true, nine},
		{"3 m 14 s late with a grace of 1 m", ", misfire: run, grace: 1m", nine.Add(-time.Hour), nil, nine.Add(194 * time.Second), false,
			time.Time{}},
		{"written afterwards", "", nine.Add(time.Minute), nil, nine.Add(2 * time.Minute), false, time.Time{}},
		{"fired already", "", nine.Add(-time.Hour), []campaign.Run{done}, nine.Add(time.Minute), false, time.Time{}},
		{"fired the day before", "", nine.Add(time.Minute), []campaign.Run{before}, nine.Add(time.Minute), true, nine},
		{"its last import is stuck", "", nine.Add(-time.Hour), []campaign.Run{importing}, nine.Add(time.Minute), true, nine},
		{"its import of today is stuck", "", nine.Add(-time.Hour), []campaign.Run{today}, nine.Add(time.Minute), false, time.Time{}},
	} {
		file := write(t, "spring.yaml", springFile+"schedule: {cron: \"0 9 * * *\", timezone: UTC"+tt.schedule+"}\n")
		if err := os.Chtimes(file, tt.written, tt.written); err != nil {
			t.Fatal(err)
		}
		s, err := readScheduled(file)
		if err != nil {
			t.Fatal(err)
		}
		l := &fired{runs: tt.runs}
		firing, due, err := New(Options{Ledger: l}).Due(t.Context(), s, tt.now)
		if err != nil || due != tt.due || !firing.At.Equal(tt.at) {
			t.Errorf("%s: due %v at %v and %v, want %v at %v", tt.name, due, firing.At, err, tt.due, tt.at)
		}
		if want := (campaign.RunFilter{Campaign: "spring", Fired: true, Limit: 1}); l.asked != want {
			t.Errorf("asked for %+v, want %+v", l.asked, want)
		}
		l.fault = errors.New("away")
		if _, due, err := New(Options{Ledger: l}).Due(t.Context(), s, tt.now); !errors.Is(err, l.fault) || due {
			t.Errorf("a ledger that is away: due %v and %v, want %v", due, err, l.fault)
		}
	}
}

// A young import and a run that is ready are left as they are.
func TestOnlyAnAbandonedImportIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 15 * time.Second
		log := &notes{}
		l := &fired{runs: []campaign.Run{
			{No: 1, Campaign: "abandoned", State: campaign.Importing, CreatedAt: time.Now().Add(-lease)},
			{No: 2, Campaign: "young", State: campaign.Importing, CreatedAt: time.Now().Add(-lease + 1)},
			{No: 3, Campaign: "followed", State: campaign.Importing, Parent: 1, CreatedAt: time.Now().Add(-time.Hour)},
			{No: 4, Campaign: "ready", State: campaign.Ready, CreatedAt: time.Now().Add(-time.Hour)},
		}}
		c := config.Default()
		sc := New(Options{Config: c, Ledger: l, Log: logTo(log)})
		launches := NewLauncher(sc)
		sc.ResumeImports(t.Context(), launches, nil, nil)
		launches.Wait()
		if want := (campaign.RunFilter{Unfinished: true}); l.asked != want {
			t.Errorf("asked for %+v, want %+v", l.asked, want)
		}
		logged := strings.Join(log.lines(""), "")
		for name, want := range map[string]bool{"abandoned-1": true, "young-2": false, "followed-3": true, "ready-4": false} {
			if got := strings.Contains(logged, name); got != want {
				t.Errorf("%s is resumed: got %v, want %v; the log is %s", name, got, want, logged)
			}
		}
	})
}

func TestALaunchHasTheKeyOfItsFiring(t *testing.T) {
	got := New(Options{Config: config.Default(), Owner: "me"}).Launch("f.yaml", CronKey+plan.Firing{Key: "k"}.Key)
	want := launch.Request{File: "f.yaml", Key: campaign.FiringKey + "k", Owner: "me", Lease: 15 * time.Second, NoWait: true}
	if got.File != want.File || got.Key != want.Key || got.Owner != want.Owner || got.Lease != want.Lease {
		t.Errorf("launch = %+v, want %+v", got, want)
	}
	if got.NoWait != want.NoWait || got.New != want.New {
		t.Errorf("launch: NoWait %v, New %v, want %v and %v", got.NoWait, got.New, want.NoWait, want.New)
	}
}

// A quarantine closes the firing that is due, unless a run of the ledger has its campaign and key.
func TestAQuarantineKnowsAFiringByCampaignAndKey(t *testing.T) {
	folder := t.TempDir()
	file := folder + "/spring.yaml"
	if err := os.WriteFile(file, []byte(springFile+dailySchedule), 0o600); err != nil {
		t.Fatal(err)
	}
	makeDue(t, file)
	all, err := Read(folder)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d schedules and %v, want 1", len(all), err)
	}
	cfg, l := &config.Config{Campaigns: folder}, &fired{}
	sc := New(Options{Config: cfg, Ledger: l, Log: slog.New(slog.DiscardHandler)})
	firing, due, err := sc.Due(t.Context(), all[0], time.Now())
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
		{"the firing itself",
			[]campaign.Run{{Campaign: "summer", Launch: key}, {Campaign: "spring", Launch: key, ListName: "l.csv"}}, 0},
		{"the firing itself, before others",
			[]campaign.Run{{Campaign: "spring", Launch: key, ListName: "l.csv"}, {Campaign: "summer", Launch: key}}, 0},
		{"the run of an earlier quarantine", []campaign.Run{{Campaign: "spring", Launch: key, ListName: lostList, State: campaign.Importing}}, 1},
	} {
		closed, err := sc.CloseFirings(t.Context(), tt.runs, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(closed) != tt.want {
			t.Errorf("%s: %d firings are closed, want %d", tt.name, len(closed), tt.want)
		}
	}
	l.fault = errors.New("disk full")
	_, err = sc.CloseFirings(t.Context(), nil, true)
	if !errors.Is(err, l.fault) {
		t.Errorf("with a ledger that fails: got %v, want %v", err, l.fault)
	}
}
