package schedule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// A process may die after it launched a corrected campaign again and before it ended the import. A
// replica with the file of before then ends the import, and does not finish it.
func TestAnImportThatWasLaunchedAgainEnds(t *testing.T) {
	c := newScene(t)
	stuck := campaign.Run{Campaign: "spring", Launch: CronKey + "2026-03-02T09:00", ListHash: "a", ListName: "list.csv",
		Definition: []byte(springFile)}
	importing := []campaign.State{campaign.Importing}
	for _, launched := range []bool{false, true} {
		run, err := c.ledger.CreateRun(t.Context(), stuck)
		if err != nil && !launched {
			t.Fatal(err)
		}
		if _, err := c.ledger.SetState(t.Context(), run.No, importing, campaign.Importing, "", "disk full"); err != nil {
			t.Fatal(err)
		}
		if run, err = c.ledger.Run(t.Context(), run.No); err != nil {
			t.Fatal(err)
		}
		want := campaign.Importing
		if launched {
			want = campaign.RunStateFailed
			again := campaign.Run{Campaign: "spring", Launch: keyAfter(run), ListHash: "b", ListName: "list.csv"}
			if _, err := c.ledger.CreateRun(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.schedule.resumeImport(t.Context(), run, nil, nil); (err == nil) != launched {
			t.Errorf("launched again %v: got %v, want no error only if it was, since its list is not here", launched, err)
		}
		if got, err := c.ledger.Run(t.Context(), run.No); err != nil || got.State != want {
			t.Errorf("launched again %v: the import is %s and %v, want %s", launched, got.State, err, want)
		}
	}
}

// A replica may have an older campaign file than the run was launched with: the corrected campaign
// was launched elsewhere. Only a file that was changed after the launch is launched again.
func TestAnOlderCampaignFileCorrectsNoImport(t *testing.T) {
	dir := t.TempDir()
	path, old := filepath.Join(dir, "spring.yaml"), time.Now().Add(-time.Hour)
	folder := NewFolder(dir)
	look := func(text string) Scheduled {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := folder.Look(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := folder.Find("spring")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c := newScene(t)
	in := func(language string) string {
		return strings.Replace(springFile, "language: en", "language: "+language, 1) + dailySchedule
	}
	older := look(in("en"))
	stuck := campaign.Run{Campaign: "spring", Launch: CronKey + "2026-03-02T09:00", CreatedAt: time.Now(), Definition: []byte(in("fr")),
		Detail: "disk full"}
	if why, again, err := c.schedule.stuck(t.Context(), stuck, &older); why != "" || again != nil || err != nil {
		t.Errorf("with the file of before: got %q, launched again %v, %v; want the import to go on", why, again != nil, err)
	}
	same, newer := look(in("fr")), look(in("de"))
	if why, again, err := c.schedule.stuck(t.Context(), stuck, &same); why != "" || again != nil || err != nil {
		t.Errorf("with its own file: got %q, launched again %v, %v; want the import to go on", why, again != nil, err)
	}
	if why, again, err := c.schedule.stuck(t.Context(), stuck, &newer); why == "" || again != &newer || err != nil {
		t.Errorf("with a corrected file: got %q, launched again %v, %v; want it launched again", why, again != nil, err)
	}
}
