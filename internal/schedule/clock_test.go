package schedule

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
)

// times returns instants of RFC 3339.
func times(t *testing.T, texts ...string) (all []time.Time) {
	t.Helper()
	for _, text := range texts {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, at)
	}
	return all
}

// note stores a firing of the campaign spring, or a mark of the ledger if it has no outcome.
func (c *scene) note(f campaign.Firing) {
	c.Helper()
	if f.Campaign = "spring"; f.Outcome == "" {
		f.Campaign, f.Outcome = "", campaign.FiringAdded
	}
	if _, err := c.ledger.NoteFiring(c.Context(), f); err != nil {
		c.Fatal(err)
	}
}

// The clock of a replica was ahead for a while, and the ledger has firings of times to come.
func TestAClockThatWasAheadSilencesNoSchedule(t *testing.T) {
	c := newScene(t)
	nine := scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'")
	c.wantLooks(nine, [2]string{"2026-03-01T12:00:00Z", ""}, [2]string{"2026-03-02T09:00:02Z", "2026-03-02T09:00"},
		[2]string{"2027-03-02T09:30:00Z", ""}, // one is missed there
		[2]string{"2027-03-03T09:00:01Z", "2027-03-03T09:00"},
		[2]string{"2026-03-02T09:00:12Z", ""}, // the clock is right again
		[2]string{"2026-03-03T09:00:02Z", "2026-03-03T09:00"}, [2]string{"2026-03-03T09:00:07Z", ""})
	// A changed schedule counts at once, though the ahead clock had recorded another change.
	c.wantLooks(scheduledAt(t, "2027-03-04T08:00:00Z", "cron: '0 11 * * *'"), [2]string{"2027-03-04T08:00:05Z", ""})
	c.wantLooks(scheduledAt(t, "2026-03-04T08:00:00Z", "cron: '0 10 * * *'"), [2]string{"2026-03-04T08:00:05Z", ""},
		[2]string{"2026-03-04T10:00:02Z", "2026-03-04T10:00"}, [2]string{"2026-03-04T10:00:07Z", ""})
}

// A launch that could not be done with the clock ahead is done at its time. It holds up no other
// firing until then.
func TestAFiringToComeIsLaunchedWhenItIsDue(t *testing.T) {
	c := newScene(t)
	at := times(t, "2026-03-05T09:00:00Z")[0]
	c.note(campaign.Firing{Key: "2026-03-05T09:00", At: at, Since: at.Add(time.Second), Outcome: campaign.FiringLaunching, Detail: "no TLS"})
	c.wantLooks(scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'"),
		[2]string{"2026-03-03T08:00:00Z", ""}, [2]string{"2026-03-03T09:00:02Z", "2026-03-03T09:00"},
		[2]string{"2026-03-04T09:00:02Z", "2026-03-04T09:00"}, [2]string{"2026-03-05T09:00:02Z", "2026-03-05T09:00"},
		[2]string{"2026-03-05T09:00:07Z", ""})
}

// A quarantine with the clock ahead was before its record was seen. Firings of before that are
// missed, and no later ones.
func TestAQuarantineToComeWasBeforeItWasSeen(t *testing.T) {
	c := newScene(t)
	c.note(campaign.Firing{Key: "quarantined", At: times(t, "2027-03-05T09:00:00Z")[0]})
	c.wantLooks(scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'"),
		[2]string{"2026-03-02T09:00:02Z", ""}, [2]string{"2026-03-03T09:00:02Z", "2026-03-03T09:00"})
}

// A run of a ledger without records of firings is of a time to come.
func TestARunToComeSilencesNoSchedule(t *testing.T) {
	at := times(t, "2026-03-02T09:00:02Z", "2027-01-01T00:00:00Z")
	l := &fired{runs: []campaign.Run{{State: campaign.Finished, CreatedAt: at[1]}}}
	s := scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'")
	if f, due, err := New(Options{Ledger: l}).Due(t.Context(), s, at[0]); err != nil || !due || !f.At.Equal(at[0].Truncate(time.Minute)) {
		t.Errorf("got due %v at %v and %v, want the firing of 09:00", due, f.At, err)
	}
}

// The run of a firing may be made after the next firing is due: its preflight is slow.
func TestAFiringDuringALaunchIsSeen(t *testing.T) {
	at := times(t, "2026-03-02T08:59:00Z", "2026-03-02T09:00:02Z", "2026-03-02T09:00:04Z")
	l := &fired{runs: []campaign.Run{{State: campaign.Finished, CreatedAt: at[1]}},
		firings: []campaign.Firing{{Campaign: "spring", Key: "2026-03-02T08:59", At: at[0], Outcome: campaign.FiringLaunched}}}
	s := scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '* * * * *'")
	if f, due, err := New(Options{Ledger: l}).Due(t.Context(), s, at[2]); err != nil || !due || !f.At.Equal(at[2].Truncate(time.Minute)) {
		t.Errorf("got due %v at %v and %v, want the firing of 09:00", due, f.At, err)
	}
}

// skewed is a ledger whose clock is behind this machine's, and that ends the schedule when it has
// told the time three times.
type skewed struct {
	campaign.Ledger
	by   time.Duration
	told int
	end  func()
}

func (s *skewed) Clock(context.Context) (time.Time, error) {
	if s.told++; s.told == 3 {
		s.end()
	}
	return time.Now().Add(-s.by), nil
}

// A replica whose clock differs from the ledger's by more than a minute fires nothing, and says so
// once.
func TestAClockThatIsWrongFiresNothing(t *testing.T) {
	for by, want := range map[time.Duration]int{0: 1, 55 * time.Second: 1, -55 * time.Second: 1, 2 * time.Minute: 0, -2 * time.Minute: 0} {
		c := newScene(t)
		cfg, ctx, log := config.Default(), t.Context(), &bytes.Buffer{}
		cfg.Campaigns = filepath.Dir(write(t, "spring.yaml", springFile+"schedule: {at: '2026-01-05T09:00'}\n"))
		l := &skewed{Ledger: c.ledger, by: by}
		ctx, l.end = context.WithCancel(ctx)
		New(Options{Config: cfg, Ledger: l, Owner: "a", Log: slog.New(slog.NewTextHandler(log, nil))}).Run(ctx, nil, time.Millisecond)
		firings, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
		if err != nil || len(firings) != want {
			t.Errorf("%s ahead: %d firings are recorded (%v), want %d", by, len(firings), err, want)
		}
		if told := strings.Count(log.String(), "no schedule fires here"); told != 1-want {
			t.Errorf("%s ahead: the log says so %d times, want %d:\n%s", by, told, 1-want, log)
		}
	}
}

// The grace of an import is over by the ledger's clock, whatever the clock of a replica says.
func TestAnImportEndsByTheClockOfTheLedger(t *testing.T) {
	c := newScene(t)
	of := scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *', grace: 30m")
	for by, late := range map[time.Duration]bool{0: false, time.Hour: false, -time.Hour: true} {
		ledger := &skewed{Ledger: c.ledger, by: by}
		run := campaign.Run{Campaign: "spring", Launch: CronKey + "2026-03-02T09:00", Detail: "disk full", Definition: of.Source,
			CreatedAt: time.Now().Add(min(-by, 0) - time.Minute)}
		why, again, err := New(Options{Config: config.Default(), Ledger: ledger}).stuck(t.Context(), run, &of)
		if err != nil || again != nil || (why != "") != late {
			t.Errorf("%s ahead: got %q, launched again %v, %v; want it ended: %v", by, why, again != nil, err, late)
		}
	}
}

// An alert compares the time with now. A firing may be found out long after it was due, and a
// launch that failed long after it was first possible.
func TestAMissedFiringTellsWhenItWasFoundOut(t *testing.T) {
	c, before := newScene(t), time.Now().Truncate(time.Second)
	at := times(t, "2026-03-02T09:00:00Z")[0]
	c.note(campaign.Firing{Key: "2026-03-02T09:00", At: at, Since: at, Outcome: campaign.FiringLaunching, Detail: "no TLS"})
	c.wantLooks(scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'"), [2]string{"2026-03-02T11:00:00Z", ""})
	if last, err := c.ledger.LastMissed(t.Context()); err != nil || last.Before(before) {
		t.Errorf("a launch failed: got the time %s (%v), want not before %s", last, err, before)
	}
}
