package launch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// A window by the recipient's clock holds for a follow-up too: each of its rows lies in a segment
// of the same zone as in the parent run.
func TestAFollowUpKeepsTheZonesOfItsRows(t *testing.T) {
	l := openLedger(t)
	zoned := minimal + "recipients: {columns: {timezone: tz}}\nwindow: {hours: \"09:00-18:00\", timezone: recipient}\n"
	path := writeFile(t, "zones.csv", "to,tz\n"+
		"+2348031234501,Africa/Lagos\n+12025550143,America/New_York\n"+
		"+2348031234502,Africa/Lagos\n+12025550144,America/Chicago\n")
	d := parse(t, zoned)
	run := newRun(t, l, d, path)
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
		t.Fatal(err)
	}
	if run, err = l.Run(t.Context(), run.No); err != nil {
		t.Fatal(err)
	}
	run.Definition = []byte(zoned)
	parent := &fixedRows{l, run.No, lines(t, l, run.No)}
	for i := range parent.lines {
		parent.lines[i].Status, parent.lines[i].Code = campaign.Failed, "131026"
	}
	got, err := follow(parent, run, "failed")
	if err != nil {
		t.Fatal(err)
	}
	zones := func(no campaign.RunNo) map[string]string {
		t.Helper()
		states, err := l.SegmentStates(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		of := map[int64]string{}
		for _, s := range states {
			of[s.Index] = s.Group
		}
		all := map[string]string{}
		for _, line := range lines(t, l, no) {
			all[line.To] = of[line.Seq/campaign.SegmentSize]
		}
		return all
	}
	want := map[string]string{
		"+2348031234501": "Africa/Lagos", "+12025550143": "America/New_York", "+2348031234502": "Africa/Lagos", "+12025550144": "America/Chicago",
	}
	if diff := cmp.Diff(want, zones(run.No)); diff != "" {
		t.Errorf("the run: zones -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, zones(got.Run.No)); diff != "" {
		t.Errorf("the follow-up: zones -want +got:\n%s", diff)
	}
}
