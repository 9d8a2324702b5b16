package wording

import (
	"testing"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

func TestRowsMovedFollowsAChainOfMoves(t *testing.T) {
	got := RowsMoved([]campaign.SegmentState{
		{Connection: "c", Moves: []campaign.SegmentMove{{From: "a", Rows: 40}, {From: "b", Rows: 30}}},
		{Connection: "a", Moves: []campaign.SegmentMove{{From: "a", Rows: 5}, {From: "b", Rows: 2}}},
		{Moves: []campaign.SegmentMove{{From: "b", Rows: 7}}},
		{Connection: "d"},
	})
	want := []MovedRows{{"", 7, 0}, {"a", 2, 45}, {"b", 45, 39}, {"c", 30, 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("moved (-want +got):\n%s", d)
	}
}
