package schedule

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// A schedule whose only time has passed launches nothing, unless it still may (misfire, grace) or
// has.
func TestAPastTimeIsSaidUnlessItWasLaunched(t *testing.T) {
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	const at, never = "2026-11-20T10:00", "2026-11-20T10:00 in Africa/Lagos has passed, so it never fires"
	for _, c := range []struct {
		about, schedule, want string
		late                  time.Duration
		outcome               campaign.FiringOutcome // "": no process looked at it
	}{
		{"to come", "at: '" + at + "'", "", -time.Hour, ""},
		{"cron", "cron: '0 10 * * *'", "", time.Hour, ""},
		{"a restart", "at: '" + at + "'", "", 30 * time.Second, ""},
		{"past", "at: '" + at + "'", never, 2 * time.Minute, ""},
		{"within its grace", "misfire: run, at: '" + at + "'", "", 20 * time.Minute, ""},
		{"after its grace", "misfire: run, at: '" + at + "'", never, 31 * time.Minute, ""},
		{"launched", "at: '" + at + "'", "", time.Hour, campaign.FiringLaunched},
		{"waiting", "at: '" + at + "'", "", time.Hour, campaign.FiringWaiting},
		{"missed", "at: '" + at + "'", "2026-11-20T10:00 in Africa/Lagos was its only firing, which was missed", time.Hour,
			campaign.FiringMissed},
	} {
		src := []byte("name: a\nconnections: [conn_1]\ntemplate: {name: a, language: en}\n" +
			"schedule: {timezone: Africa/Lagos, " + c.schedule + "}\n")
		def, err := file.Parse("a.yaml", src)
		if err != nil {
			t.Fatal(err)
		}
		cron, err := plan.CronOf("a.yaml", src, def)
		if err != nil {
			t.Fatal(err)
		}
		l := &fired{}
		if c.outcome != "" {
			l.firings = []campaign.Firing{{Campaign: "a", Key: "2026-11-20T10:00:00", At: nine, Outcome: c.outcome}}
		}
		if got, err := Past(t.Context(), l, def, cron, nine.Add(c.late)); got != c.want || err != nil {
			t.Errorf("%s: got %q and %v, want %q", c.about, got, err, c.want)
		}
	}
	if got, err := Past(t.Context(), &fired{}, &file.Definition{}, nil, nine); got != "" || err != nil {
		t.Errorf("no schedule: got %q and %v, want nothing", got, err)
	}
}

// The daemon treats a past time as check and doctor say.
func TestAPastTimeIsMissed(t *testing.T) {
	s := newScene(t)
	src := []byte("name: a\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nschedule: {at: '2026-11-20T09:00'}\n")
	scheduled, err := parseScheduled("a.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	if due, err := s.schedule.Look(t.Context(), scheduled, time.Date(2026, 11, 20, 9, 2, 0, 0, time.UTC)); due != nil || err != nil {
		t.Errorf("two minutes late: got %+v and %v, want nothing to launch", due, err)
	}
	past, err := Past(t.Context(), s.ledger, scheduled.Definition, scheduled.Cron, time.Date(2026, 11, 20, 9, 3, 0, 0, time.UTC))
	if err != nil || !strings.HasSuffix(past, "which was missed") {
		t.Errorf("afterwards: got %q and %v, want that it was missed", past, err)
	}
}
