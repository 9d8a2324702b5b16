package schedule

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// A firing that was missed because its time zone was forgotten fires at the right instant.
func TestACorrectedTimeZoneFires(t *testing.T) {
	for _, tt := range []struct {
		about, before, after string
		looks                [][2]string // after the correction
	}{
		{"to a later instant", "at: 2026-03-02T09:00", "at: 2026-03-02T09:00, timezone: America/New_York",
			[][2]string{{"2026-03-02T10:05:00Z", ""}, {"2026-03-02T14:00:03Z", "2026-03-02T14:00:00Z"}, {"2026-03-02T14:00:08Z", ""}}},
		{"with the offset", "at: 2026-03-02T09:00", "at: '2026-03-02T09:00:00-05:00'",
			[][2]string{{"2026-03-02T14:00:03Z", "2026-03-02T14:00:00Z"}, {"2026-03-02T14:00:08Z", ""}}},
		{"to an instant that has passed too", "at: 2026-03-02T09:00", "at: 2026-03-02T09:00, timezone: Africa/Lagos",
			[][2]string{{"2026-03-02T10:05:00Z", ""}, {"2026-03-02T10:05:05Z", ""}}},
	} {
		c := newScene(t)
		c.wantLooks(scheduledAt(t, "2026-03-02T10:00:00Z", tt.before), [2]string{"2026-03-02T10:00:05Z", ""})
		c.wantLooks(scheduledAt(t, "2026-03-02T10:04:00Z", tt.after), tt.looks...)
		all, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
		if err != nil || len(all) != 2 {
			t.Errorf("%s: got the firings %+v and %v, want one for each instant", tt.about, all, err)
		}
	}
}

// People who got the message do not get it again because another spelling or zone was written. The
// first file is as the program of before had it, and so is its record.
func TestAnotherSpellingOfATimeFiresNotAgain(t *testing.T) {
	for _, tt := range []struct {
		about, key, after string
		outcome           campaign.FiringOutcome
	}{
		{"the offset", "2026-03-02T09:00:00", "at: '2026-03-02T09:00:00+01:00'", campaign.FiringLaunched},
		{"the offset, of one that was missed", "2026-03-02T09:00:00", "at: '2026-03-02T09:00:00+01:00'", campaign.FiringMissed},
		{"a zone instead of the offset", "2026-03-02T08:00:00Z", "at: 2026-03-02T09:00, timezone: Africa/Lagos", campaign.FiringLaunched},
		{"the same", "2026-03-02T09:00:00", "at: 2026-03-02T09:00, timezone: Africa/Lagos", campaign.FiringLaunched},
		{"another zone of one that was launched", "2026-03-02T09:00:00", "at: 2026-03-02T09:00, timezone: UTC", campaign.FiringLaunched},
	} {
		c, at := newScene(t), times(t, "2026-03-02T08:00:00Z")[0]
		c.note(campaign.Firing{Key: tt.key, At: at, Since: at, Outcome: tt.outcome})
		s := scheduledAt(t, "2026-03-02T08:10:00Z", tt.after+", misfire: run, grace: 24h")
		c.wantLooks(s, [2]string{"2026-03-02T08:10:05Z", ""}, [2]string{"2026-03-02T09:00:05Z", ""}, [2]string{"2026-03-02T10:00:00Z", ""})
		past, err := Past(t.Context(), c.ledger, s.Definition, s.Cron, at.Add(10*time.Minute))
		if moved := strings.HasPrefix(tt.about, "another zone"); err != nil || moved != (past != "") || moved && past !=
			"2026-03-02T09:00 in UTC never fires: its firing of 2026-03-02 08:00:00 UTC, in another time zone, is launched" {
			t.Errorf("%s: got %q and %v, want a sentence only of another zone", tt.about, past, err)
		}
	}
}

// Two replicas may read two spellings of a time in the same second, and record both.
func TestTwoSpellingsOfATimeAreLaunchedOnce(t *testing.T) {
	c, at := newScene(t), times(t, "2026-03-02T08:00:00Z")[0]
	s := scheduledAt(t, "2026-03-02T07:00:00Z", "at: 2026-03-02T09:00, timezone: Africa/Lagos")
	other := campaign.Firing{Campaign: "spring", Key: "2026-03-02T08:00:00Z", At: at, Since: at, Outcome: campaign.FiringLaunching}
	f := other
	f.Key = "2026-03-02T09:00:00"
	c.note(other)
	c.note(f)
	launched, err := c.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", Launch: CronKey + other.Key, ListHash: "a",
		ListName: "list.csv", Definition: s.Source, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.schedule.Fire(t.Context(), s, f, &sender.Engine{}); err != nil {
		t.Fatal(err)
	}
	got, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring", Key: f.Key})
	if err != nil || len(got) != 1 || got[0].Outcome != campaign.FiringLaunched || got[0].Run != launched.No {
		t.Errorf("got the firing %+v and %v, want it launched as %s", got, err, launched.ID())
	}
}
