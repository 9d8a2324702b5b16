package launch_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// The list of an audience that is gone cannot be given again, so its error names the way out.
func TestALostListOfAnAudienceNamesTheWayOut(t *testing.T) {
	const audience = "audience: {from: customers}\n"
	path := writeFile(t, "a.yaml", minimal+audience)
	ledger := openLedger(t)
	gone := filepath.Join(t.TempDir(), "campaignd.db.audiences", "audience-1", "a.csv")
	run, err := ledger.CreateRun(t.Context(), campaign.Run{Campaign: "a", ListHash: "h", ListName: gone,
		Definition: []byte(minimal + audience)})
	if err != nil {
		t.Fatal(err)
	}
	l := launch.Request{Ledger: ledger, Service: service(), File: path, Owner: "here",
		Make: func(context.Context) (string, *launch.Offer, error) {
			t.Error("another list was made, want none while the run is unfinished")
			return "", nil, nil
		}}
	_, err = l.Start(t.Context())
	want := "a.csv: the list of the audience is not here; start the process that made it, or end the run with `campaignd cancel a-1`"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err = l.Resume(t.Context(), run); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("resumed by serve: got %v, want %q", err, want)
	}
	if got := run.List(); got != "a.csv" {
		t.Errorf("the list is called %q, want a.csv", got)
	}
}
