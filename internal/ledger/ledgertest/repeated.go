package ledgertest

import (
	"fmt"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// repeated returns the deliveries of a run with the flag of a repeated message id.
func repeated(t *testing.T, l Tables, no campaign.RunNo, n int64) (seqs []int64) {
	t.Helper()
	for seq := range n {
		got := stored(t, l, fmt.Sprintf(`SELECT state || ' ' || flags FROM outcome WHERE rid = %d`, ledger.RowID(no, seq)))
		switch got {
		case fmt.Sprint(int(ledger.Accepted), " ", ledger.FlagRepeatedID):
			seqs = append(seqs, seq)
		case fmt.Sprint(int(ledger.Accepted), " ", 0):
		default:
			t.Errorf("seq %d has the state and flags %q; want %d, and %d or 0", seq, got, ledger.Accepted, ledger.FlagRepeatedID)
		}
	}
	return seqs
}

// Exactly the deliveries with the same message id are flagged, wherever they are in the call.
func aRepeatedMessageIDIsFlaggedAtBoth(t *testing.T, l Tables) {
	const width = 16 // acceptances of one statement of SQLite
	const n = 2*width + 2
	for name, c := range map[string]struct {
		calls [][2]int64 // from, to
		same  []int64    // deliveries with the message id of the first of them
	}{
		"None":                     {[][2]int64{{0, n}}, nil},
		"InOneStatement":           {[][2]int64{{0, n}}, []int64{0, width - 1}},
		"InTheNextStatement":       {[][2]int64{{0, n}}, []int64{width - 1, width}},
		"InTheSecondStatement":     {[][2]int64{{0, n}}, []int64{width, 2*width - 1}},
		"InTheRest":                {[][2]int64{{0, n}}, []int64{2 * width, n - 1}},
		"AcrossTheStatements":      {[][2]int64{{0, n}}, []int64{1, n - 1}},
		"ThreeTimes":               {[][2]int64{{0, n}}, []int64{0, 3, n - 1}},
		"InALaterCall":             {[][2]int64{{0, 1}, {1, n}}, []int64{0, 1}},
		"InALaterCallOfOne":        {[][2]int64{{0, n - 1}, {n - 1, n}}, []int64{5, n - 1}},
		"InALaterCallOfAStatement": {[][2]int64{{0, width}, {width, 2 * width}, {2 * width, n}}, []int64{0, width}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Load(t, l, n)
			rs := Acceptances(ClaimAll(t, l, r.No)[0], 0, n)
			for _, seq := range c.same {
				rs[seq].MessageID = rs[c.same[0]].MessageID
			}
			for _, call := range c.calls {
				mustRecord(t, l, rs[call[0]:call[1]])
			}
			if got := repeated(t, l, r.No, n); fmt.Sprint(got) != fmt.Sprint(c.same) {
				t.Errorf("flagged as repeated: %v; want %v", got, c.same)
			}
			if got := Totals(t, l, r.No)[campaign.Accepted]; got != n {
				t.Errorf("accepted: %d; want all %d", got, n)
			}
		})
	}
}

// Two message ids with the same hash are two messages.
func twoIDsOfOneHashAreNotRepeated(t *testing.T, l Tables) {
	r := Load(t, l, 3)
	rs := Acceptances(ClaimAll(t, l, r.No)[0], 0, 3)
	mustRecord(t, l, rs[:1])
	alter(t, l, fmt.Sprintf(`UPDATE outcome SET message_id = 'wamid.other' WHERE rid = %d`, ledger.RowID(r.No, 0)))
	rs[1].MessageID = rs[0].MessageID
	mustRecord(t, l, rs[1:2])
	if got := repeated(t, l, r.No, 2); len(got) != 0 {
		t.Errorf("flagged as repeated: %v; want none", got)
	}
	rs[2].MessageID = rs[0].MessageID
	mustRecord(t, l, rs[2:])
	if got := repeated(t, l, r.No, 3); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("flagged as repeated: %v; want [1 2]", got)
	}
}
