package schedule

import (
	"testing"
	"time"

	"campaignd/campaign"
)

func TestMissedFiringsAreMissedSinceTheFirst(t *testing.T) {
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	step := firings{after: nine.Add(-3 * time.Hour)}.next(hourly(t, ""), nine.Add(time.Second))
	if len(step.note) != 1 || step.note[0].Missed != 2 || !step.note[0].MissedSince.Equal(nine.Add(-2*time.Hour)) {
		t.Errorf("got %+v, want one firing, and 2 missed since 07:00", step.note)
	}
}

// The record of a firing may be lost, while its run is there: a firing before that run is not due.
func TestAFiringBeforeTheLastRunIsNotDue(t *testing.T) {
	c := newScene(t)
	s := scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'")
	if _, err := c.ledger.NoteFiring(t.Context(), campaign.Firing{Campaign: "spring", Key: "added", At: s.Written, Since: s.Written,
		Outcome: campaign.FiringAdded, Detail: s.schedule()}); err != nil {
		t.Fatal(err)
	}
	run, err := c.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", Launch: CronKey + "2026-03-02T09:00", ListHash: "a",
		ListName: "list.csv", Definition: s.Source, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	after, added, err := c.schedule.afterKnown(t.Context(), s, time.Now())
	if err != nil || added != nil || after.Before(run.CreatedAt) {
		t.Errorf("got the firings after %v, %+v and %v, want those after the run of %v, and nothing to store", after, added, err, run.CreatedAt)
	}
}

// While a rolling update goes on, a replica with the file of before changes no schedule.
func TestAnOlderFileChangesNoSchedule(t *testing.T) {
	c := newScene(t)
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for _, s := range []Scheduled{scheduledAt(t, "2026-03-03T10:00:00Z", "cron: '0 8 * * *'"),
		scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'")} {
		after, added, err := c.schedule.afterKnown(t.Context(), s, now)
		if older := s.Written.Day() == 1; err != nil || (added == nil) != older || after.Day() != 3 {
			t.Errorf("a file of %v: got the firings after %v, %+v and %v, want those after 3 March, and the first file stored alone",
				s.Written, after, added, err)
		}
		if added != nil {
			if _, err := c.ledger.NoteFiring(t.Context(), *added); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An import that failed may be mended by nobody: the next firing does not wait for it.
func TestAFailedImportDelaysNoFiring(t *testing.T) {
	for detail, want := range map[string]int{"": 1, "the list is not here": 0} {
		c := newScene(t)
		s := scheduledAt(t, "2026-03-01T10:00:00Z", "cron: '0 9 * * *'")
		run, err := c.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "a", ListName: "list.csv",
			Definition: s.Source, Wanted: campaign.WantRun})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ledger.SetState(t.Context(), run.No, []campaign.State{campaign.Importing}, campaign.Importing, "", detail); err != nil {
			t.Fatal(err)
		}
		w, err := c.schedule.firingsOf(t.Context(), s, time.Now())
		if err != nil || len(w.unfinished) != want {
			t.Errorf("an import with the fault %q: got %d runs that delay a firing and %v, want %d", detail, len(w.unfinished), err, want)
		}
	}
}
