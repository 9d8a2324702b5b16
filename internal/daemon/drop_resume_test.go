package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/drops"
	"campaignd/internal/schedule"
	"campaignd/recipients"
)

// The campaign file and the sidecar of a dropped list are changed while it is imported. Its run
// keeps the campaign of its launch.
func TestAnInterruptedDropGoesOnAsItWasLaunched(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	path := c.campaign(c.dir, "spring", "", 10)
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, list := c.replica(), filepath.Join(c.dir, "spring.csv")
	hash, _, err := recipients.Hash(list)
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: hash, ListName: list, Launch: "drop 1",
		Definition: source, Header: []string{"phone", "first_name", "order"}, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, strings.Replace(string(source), "to: phone", "to: mobile", 1)) // the list has no such column
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	l := &dropLauncher{d: d, e: e, service: &recent{Service: d.client}, folder: schedule.NewFolder(c.dir)}
	got, err := l.launch(t.Context(), drops.Request{Campaign: "spring", List: list, Key: "drop 1", Sidecar: []byte("name: ["),
		SidecarName: "spring.csv.yaml", Rejects: filepath.Join(t.TempDir(), "rejected.csv")})
	if err != nil || got.No != run.No || got.State != campaign.Ready || got.Rows != 10 {
		t.Errorf("got %+v and %v, want %s with its 10 rows, ready", got, err, run.ID())
	}

	// The import of a list that was lost is cancelled, and the list is dropped again.
	lost, err := c.ledger.CreateRun(t.Context(), campaign.Run{Campaign: "winter", ListHash: hash, ListName: list, Launch: "drop 2",
		Definition: source, Header: []string{"phone", "first_name", "order"}, Wanted: campaign.WantRun})
	if err == nil {
		_, err = c.ledger.SetWanted(t.Context(), lost.No, campaign.WantCancel, campaign.ByFolder)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.campaign(c.dir, "winter", "", 10)
	l = &dropLauncher{d: d, e: e, service: l.service, folder: schedule.NewFolder(c.dir)}
	got, err = l.launch(t.Context(), drops.Request{Campaign: "winter", List: list, Key: "drop 3",
		Rejects: filepath.Join(t.TempDir(), "rejected.csv")})
	if err != nil || got.No == lost.No || got.State != campaign.Ready {
		t.Errorf("dropped again: got %+v and %v, want another run than %s, ready", got, err, lost.ID())
	}
}
