package campaign

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowsMovedFollowsAChainOfMoves(t *testing.T) {
	got := RowsMoved([]SegmentState{
		{Connection: "c", Moves: []SegmentMove{{"a", 40}, {"b", 30}}},
		{Connection: "a", Moves: []SegmentMove{{"a", 5}, {"b", 2}}},
		{Moves: []SegmentMove{{"b", 7}}},
		{Connection: "d"},
	})
	want := []MovedRows{{"", 7, 0}, {"a", 2, 45}, {"b", 45, 39}, {"c", 30, 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("moved (-want +got):\n%s", d)
	}
}
