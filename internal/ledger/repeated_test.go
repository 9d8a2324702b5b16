package ledger

import (
	"fmt"
	"testing"

	"campaignd/campaign"
)

// repeated is which deliveries of a run carry the flag of a message id that another has.
func repeated(t *testing.T, l restorable, no campaign.RunNo, n int64) (seqs []int64) {
	t.Helper()
	for seq := range n {
		got := stored(t, l, fmt.Sprintf(`SELECT state || ' ' || flags FROM outcome WHERE rid = %d`, rid(no, seq)))
		switch got {
		case fmt.Sprint(int(accepted), " ", flagRepeatedID):
			seqs = append(seqs, seq)
		case fmt.Sprint(int(accepted), " ", 0):
		default:
			t.Errorf("seq %d has the state and flags %q; want %d, and %d or 0", seq, got, accepted, flagRepeatedID)
		}
	}
	return seqs
}

// Both deliveries of one message id are flagged, and nobody else, wherever they stand in what is recorded at once.
func TestARepeatedMessageIDIsFlaggedAtBoth(t *testing.T) {
	t.Parallel()
	const n = 2*acceptWidth + 2
	onEachBackend(t, func(t *testing.T, l restorable) {
		for name, c := range map[string]struct {
			calls [][2]int64 // from, to
			same  []int64    // deliveries that are given the id of the first of them
		}{
			"None":                     {[][2]int64{{0, n}}, nil},
			"InOneStatement":           {[][2]int64{{0, n}}, []int64{0, acceptWidth - 1}},
			"InTheNextStatement":       {[][2]int64{{0, n}}, []int64{acceptWidth - 1, acceptWidth}},
			"InTheSecondStatement":     {[][2]int64{{0, n}}, []int64{acceptWidth, 2*acceptWidth - 1}},
			"InTheRest":                {[][2]int64{{0, n}}, []int64{2 * acceptWidth, n - 1}},
			"AcrossTheStatements":      {[][2]int64{{0, n}}, []int64{1, n - 1}},
			"ThreeTimes":               {[][2]int64{{0, n}}, []int64{0, 3, n - 1}},
			"InALaterCall":             {[][2]int64{{0, 1}, {1, n}}, []int64{0, 1}},
			"InALaterCallOfOne":        {[][2]int64{{0, n - 1}, {n - 1, n}}, []int64{5, n - 1}},
			"InALaterCallOfAStatement": {[][2]int64{{0, acceptWidth}, {acceptWidth, 2 * acceptWidth}, {2 * acceptWidth, n}}, []int64{0, acceptWidth}},
		} {
			t.Run(name, func(t *testing.T) {
				r := load(t, l, n)
				rs := acceptances(claimAll(t, l, r.No)[0], 0, n)
				for _, seq := range c.same {
					rs[seq].MessageID = rs[c.same[0]].MessageID
				}
				for _, call := range c.calls {
					if err := l.Record(t.Context(), rs[call[0]:call[1]]); err != nil {
						t.Fatalf("recording %v: %v; want no error", call, err)
					}
				}
				if got := repeated(t, l, r.No, n); fmt.Sprint(got) != fmt.Sprint(c.same) {
					t.Errorf("flagged as repeated: %v; want %v", got, c.same)
				}
				if got := totals(t, l, r.No)[campaign.Accepted]; got != n {
					t.Errorf("accepted: %d; want all %d", got, n)
				}
			})
		}
	})
}

// Two ids of one hash are two messages.
func TestTwoIDsOfOneHashAreNotRepeated(t *testing.T) {
	t.Parallel()
	onEachBackend(t, func(t *testing.T, l restorable) {
		r := load(t, l, 3)
		rs := acceptances(claimAll(t, l, r.No)[0], 0, 3)
		if err := l.Record(t.Context(), rs[:1]); err != nil {
			t.Fatalf("recording: %v; want no error", err)
		}
		alter(t, l, fmt.Sprintf(`UPDATE outcome SET message_id = 'wamid.other' WHERE rid = %d`, rid(r.No, 0)))
		rs[1].MessageID = rs[0].MessageID
		if err := l.Record(t.Context(), rs[1:2]); err != nil {
			t.Fatalf("recording: %v; want no error", err)
		}
		if got := repeated(t, l, r.No, 2); len(got) != 0 {
			t.Errorf("flagged as repeated: %v; want none", got)
		}
		rs[2].MessageID = rs[0].MessageID
		if err := l.Record(t.Context(), rs[2:]); err != nil {
			t.Fatalf("recording: %v; want no error", err)
		}
		if got := repeated(t, l, r.No, 3); fmt.Sprint(got) != "[1 2]" {
			t.Errorf("flagged as repeated: %v; want [1 2]", got)
		}
	})
}
