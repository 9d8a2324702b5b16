package ledger

import "testing"

// A segment goes to another number when everything below its mark has an outcome, unless the import
// bound it to its number.
func TestASegmentMovesWhenNothingIsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		s               Segment
		below, retrying int64
		want            bool
	}{
		"all below have an outcome": {Segment{Lo: 10, Mark: 14}, 4, 0, true},
		"nothing was sent":          {Segment{Lo: 10, Mark: 10}, 0, 0, true},
		"one has no outcome":        {Segment{Lo: 10, Mark: 14}, 3, 0, false},
		"one is retried":            {Segment{Lo: 10, Mark: 14}, 4, 1, false},
		"bound by the import":       {Segment{Lo: 10, Mark: 14, Bound: true}, 4, 0, false},
	} {
		if got := MayMoveAway(c.s, c.below, c.retrying); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
