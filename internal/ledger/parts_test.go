package ledger

import (
	"testing"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

func TestEachDeliveryOfARunIsCountedOnce(t *testing.T) {
	t.Parallel()
	const run = 3
	type row = []any // index, lo, hi, mark, done, alive
	type count = map[campaign.Status]int64
	var refused Group
	refused.State, refused.N = Refused, 1
	for name, c := range map[string]struct {
		segments []row
		ranges   [][2]int64 // of seqs
		want     count      // when each range has one outcome
	}{
		"Open": {[]row{{int64(0), int64(0), int64(9), int64(4), false, true}}, [][2]int64{{0, 4}, {4, 9}},
			count{"sending": 3, "queued": 4, "refused": 2}},
		"Dead": {[]row{{int64(0), int64(0), int64(9), int64(4), false, false}}, [][2]int64{{0, 4}, {4, 9}},
			count{"in_doubt": 3, "queued": 4, "refused": 2}},
		"Done":   {[]row{{int64(0), int64(0), int64(1), int64(1), true, true}}, [][2]int64{{0, 1}}, count{"refused": 1}},
		"Broken": {[]row{{int64(0), int64(0), int64(3), int64(3), true, true}}, [][2]int64{{0, 3}}, count{"refused": 1, "in_doubt": 2}},
		"DoneNeighbours": {[]row{{int64(0), int64(0), int64(1), int64(1), true, false},
			{int64(1), int64(4096), int64(4097), int64(4097), true, false}},
			[][2]int64{{0, 4097}}, count{"refused": 1, "in_doubt": 1}},
		"DoneBehindDead": {[]row{{int64(0), int64(0), int64(2), int64(2), false, false},
			{int64(1), int64(4096), int64(4097), int64(4097), true, false}},
			[][2]int64{{0, 2}, {2, 2}, {4096, 4097}}, count{"in_doubt": 1, "refused": 2}},
	} {
		var parts []Part
		var err error
		for _, r := range c.segments {
			if parts, _, err = ScanParts(run, parts, scanOf(r)); err != nil {
				t.Fatalf("%s: %v; want no error", name, err)
			}
		}
		sum := NewTally()
		var ranges [][2]int64
		for i := range parts {
			p := &parts[i]
			if ranges = append(ranges, [2]int64{seqOf(p.From), seqOf(p.To)}); p.From < p.To {
				sum.Count(p, refused)
			}
		}
		sum.Rest(parts)
		got := count{}
		for _, n := range sum.list() {
			got[n.Status] += n.N
		}
		if d := cmp.Diff(c.ranges, ranges); d != "" {
			t.Errorf("%s: ranges (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: counts (-want +got):\n%s", name, d)
		}
	}
}

// scanOf scans one row.
func scanOf(row []any) func(...any) error {
	return func(into ...any) error {
		for i, v := range row {
			switch p := into[i].(type) {
			case *int64:
				*p = v.(int64)
			case *bool:
				*p = v.(bool)
			}
		}
		return nil
	}
}
