package schedule

import (
	"testing"

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
