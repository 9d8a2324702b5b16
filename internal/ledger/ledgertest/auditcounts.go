package ledgertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func theAuditCountsWhatTheRunSays(t *testing.T, l Tables) {
	cases := map[string]struct {
		change string // of a run of 10 deliveries, whose number is %d
		want   []string
	}{
		"Nothing":       {`UPDATE run_count SET taken = 5 WHERE no = %d`, nil},
		"TheWholeCount": {`UPDATE run_count SET rows = 11 WHERE no = %d`, []string{"the run counts 11 rows, the ledger holds 10 deliveries"}},
		"OverBudget":    {`UPDATE run_count SET taken = 6 WHERE no = %d`, []string{"6 deliveries were granted, max_messages is 5"}},
		"MarkAbove": {`UPDATE segment SET mark = 11 WHERE run = %d`,
			[]string{"segment 0 has its mark or borders out of bounds: 0 to 10, mark 11"}},
		"MarkBelow": {`UPDATE segment SET mark = -1 WHERE run = %d`,
			[]string{"segment 0 has its mark or borders out of bounds: 0 to 10, mark -1"}},
		"MarkAtEnd": {`UPDATE segment SET mark = 10 WHERE run = %d`, nil},
		"Shorter":   {`UPDATE segment SET hi = 9 WHERE run = %d`, []string{"its segments cover 9 deliveries of 10"}},
		"NoSegment": {`DELETE FROM segment WHERE run = %d`, []string{"its segments cover 0 deliveries of 10"}},
		"TooLarge": {`UPDATE segment SET hi = 4097 WHERE run = %d`, []string{"its segments cover 4097 deliveries of 10",
			"segment 0 has its mark or borders out of bounds: 0 to 4097, mark 0"}},
		"Shifted": {`UPDATE segment SET lo = 1, hi = 11, mark = 1 WHERE run = %d`,
			[]string{"segment 0 has its mark or borders out of bounds: 1 to 11, mark 1"}},
	}
	other := budgeted(t, l, 10, 5)
	for name, c := range cases {
		r := budgeted(t, l, 10, 5)
		alter(t, l, fmt.Sprintf(c.change, r.No))
		found, err := l.Audit(t.Context(), r.No, 10)
		var got []string
		for _, p := range found {
			if strings.Contains(p.What, "out of bounds") || strings.Contains(p.What, "deliveries") {
				got = append(got, p.What)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: the audit says (-want +got), %v; want no error:\n%s", name, err, d)
		}
	}
	Audited(t, l, other.No)
}
