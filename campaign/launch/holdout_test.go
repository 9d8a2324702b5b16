package launch_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// heldOut imports 6,000 people, a duplicate and a broken number with a campaign file, and returns
// the keys of those who were held out.
func heldOut(t *testing.T, src string) map[int64]bool {
	t.Helper()
	l, d := openLedger(t), parse(t, src)
	path := writeFile(t, "list.csv", canaryList(6000)+"+2348030000000\n12\n")
	run := newRun(t, l, d, path)
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
	if err != nil {
		t.Fatalf("importing: %v; want no error", err)
	}
	held, queued := map[int64]bool{}, int64(0)
	for _, line := range lines(t, l, run.No) {
		if line.Status == campaign.Skipped && line.Reason == string(campaign.HeldOut) {
			held[line.Key] = true
		} else if line.Status == campaign.Queued {
			queued++
		}
	}
	if n := counts.Skipped[campaign.HeldOut]; n != int64(len(held)) || queued != counts.Queued || n+queued != 6000 ||
		counts.Skipped[campaign.Duplicate] != 1 || counts.Skipped[campaign.InvalidPhone] != 1 {
		t.Errorf("%d held out and %d queued, counted %+v; want 6,000 in all, one duplicate and one broken number", len(held), queued, counts)
	}
	return held
}

// All runs of a campaign hold out the same people, and another salt holds out others.
func TestAHoldoutIsByChanceAndTheSameEachTime(t *testing.T) {
	file := strings.ReplaceAll(minimal, "\t", "  ") + "recipients: {validate: none}\nholdout: "
	first := heldOut(t, file+"{share: 0.1}\n")
	if n := len(first); n < 510 || n > 690 { // 600 and four standard deviations
		t.Errorf("%d of 6,000 are held out at a share of 0.1; want about 600", n)
	}
	if again := heldOut(t, file+"{share: 0.1, salt: "+parse(t, minimal).Name+"}\n"); !maps.Equal(first, again) {
		t.Error("the campaign's name as the salt holds out others; want the same people")
	}
	more := heldOut(t, file+"{share: 0.3}\n")
	for key := range first {
		if !more[key] {
			t.Fatalf("%d is held out at 0.1 and not at 0.3; want it in the larger group too", key)
		}
	}
	both := 0
	for key := range heldOut(t, file+"{share: 0.1, salt: other}\n") {
		if first[key] {
			both++
		}
	}
	if both > 110 { // 60 are expected
		t.Errorf("another salt holds out %d of the same people; want about 60", both)
	}
	if n := len(heldOut(t, file+"{share: 0}\n")); n != 0 {
		t.Errorf("a share of 0 holds out %d; want nobody", n)
	}
}

func TestOrdersNeedACommercePlatform(t *testing.T) {
	src := minimal + "holdout: {share: 0.1}\nconversions: {}\n"
	for _, configured := range []bool{false, true} {
		p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: parse(t, src), File: "c.yaml", Source: []byte(src),
			List: writeFile(t, "list.csv", canaryList(10)), Commerce: configured})
		if err != nil {
			t.Fatalf("checking: %v; want no error", err)
		}
		if got := len(p.Errors()); (got == 2) == configured || configured && got > 0 ||
			!configured && !strings.Contains(fmt.Sprint(p.Errors()), "holdout: needs the orders of a commerce platform, "+
				"and none is configured; set commerce.base_url") {
			t.Errorf("configured %v: %v; want one finding for each key without a platform", configured, p.Errors())
		}
	}
}
