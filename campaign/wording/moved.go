package wording

import (
	"fmt"
	"maps"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/sentence"
)

// MovedRows counts the rows that one connection of a run was given by moves, and that it gave away.
// A row that moves twice counts twice. The connection has sent, or still has to send, the rows that
// it was given minus the rows that it gave away.
type MovedRows struct {
	Connection string `json:"connection"` // "": no connection has taken them up yet
	Given      int64  `json:"given"`
	GaveAway   int64  `json:"gave_away"`
}

// Sentence is "given 40 rows, gave away 2 rows".
func (m MovedRows) Sentence() string {
	return fmt.Sprintf("given %s, gave away %s", sentence.Count(m.Given, "row", "rows"), sentence.Count(m.GaveAway, "row", "rows"))
}

// RowsMoved counts what moved between the connections of a run, in the order of their names. The
// rows of a move went to the connection that gave the segment away next, else to the one that has
// it now.
func RowsMoved(segments []campaign.SegmentState) []MovedRows {
	by := map[string]MovedRows{}
	add := func(connection string, given, gave int64) {
		m := by[connection]
		by[connection] = MovedRows{connection, m.Given + given, m.GaveAway + gave}
	}
	for _, s := range segments {
		for i, m := range s.Moves {
			to := s.Connection
			if i+1 < len(s.Moves) {
				to = s.Moves[i+1].From
			}
			add(m.From, 0, m.Rows)
			add(to, m.Rows, 0)
		}
	}
	var all []MovedRows
	for _, connection := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[connection])
	}
	return all
}
