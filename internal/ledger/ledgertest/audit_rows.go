package ledgertest

import (
	"fmt"
	"slices"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	diff "github.com/google/go-cmp/cmp"
)

// Audit finds each row of the list that is missing or there twice, and each outcome that
// contradicts itself. It counts all faults and names as many as it is asked for.
func auditFindsEachFaultOfARow(t *testing.T, l Tables) {
	r := sparse(t, l, "r", 0)
	begin(t, l, r)
	rowOf := func(seq int64, row string) string {
		return fmt.Sprintf(`UPDATE delivery SET row = %s WHERE rid = %d`, row, ledger.RowID(r.No, seq))
	}
	outcomeOf := func(seq int64, set string) string {
		return fmt.Sprintf(`UPDATE outcome SET %s WHERE rid = %d`, set, ledger.RowID(r.No, seq))
	}
	ofSegments := func(set string) string { return fmt.Sprintf(`UPDATE segment SET %s WHERE run = %d`, set, r.No) }
	ofRun := func(table, set string) string { return fmt.Sprintf(`UPDATE %s SET %s WHERE no = %d`, table, set, r.No) }
	const far = ledger.AuditStep
	type problems = []campaign.Problem
	for _, c := range []struct {
		alter, mend []string
		want        problems
	}{
		{nil, nil, nil},
		{[]string{rowOf(0, "20")}, []string{rowOf(0, "1")}, problems{{Row: 1, What: "this row has no delivery"},
			{Row: 10, What: "rows 10 to 19 have no delivery"}}},
		{[]string{rowOf(far+2, "11"), rowOf(far+1, "10"), ofRun("run_count", "rows = 12")},
			[]string{rowOf(far+1, "8"), rowOf(far+2, "9"), ofRun("run_count", "rows = 9")},
			problems{{What: "the run counts 12 rows, the ledger holds 9 deliveries"}, {Row: 12, What: "this row has no delivery"},
				{Row: 8, What: "rows 8 to 9 have no delivery"}}},
		{[]string{`DROP INDEX delivery_row`, rowOf(3, "3")},
			[]string{rowOf(3, "4"), `CREATE UNIQUE INDEX delivery_row ON delivery ((rid >> 32), row)`},
			problems{{Row: 3, Seq: 2, What: "this row is there twice"}, {Row: 4, What: "this row has no delivery"}}},
		// An import may still bring the last rows, but none in between.
		{[]string{rowOf(far+2, "11"), ofRun("run", "state = 'importing'"), ofRun("run_count", "rows = 12")},
			[]string{rowOf(far+2, "9"), ofRun("run", "state = 'ready'"), ofRun("run_count", "rows = 9")},
			problems{{What: "the run counts 12 rows, the ledger holds 9 deliveries"}, {Row: 9, What: "rows 9 to 10 have no delivery"}}},
		{[]string{outcomeOf(3, "state = 7, code = 'felt_like_it'"), outcomeOf(far+1, "state = 7, code = NONE")},
			[]string{outcomeOf(3, "state = 3, code = '131026'"), outcomeOf(far+1, "state = 3, code = '131026'")},
			problems{{Row: 4, Seq: 3, What: `is skipped for an unknown reason: code "felt_like_it"`},
				{Row: 8, Seq: far + 1, What: `is skipped for an unknown reason: code ""`}}},
		{[]string{outcomeOf(2, "code = NONE")}, []string{outcomeOf(2, "code = '131026'")},
			problems{{Row: 3, Seq: 2, What: "is refused without a code"}}},
		{[]string{ofSegments("connection = ''")}, []string{ofSegments("connection = 'conn_1'")},
			problems{{Row: 1, Seq: 0, What: "is accepted without a connection"}, {Row: 2, Seq: 1, What: "is accepted without a connection"},
				{Row: 7, Seq: far, What: "is accepted without a connection"}}},
		{[]string{ofSegments("connection = ''"), `UPDATE outcome SET connection = 'conn_2'`},
			[]string{ofSegments("connection = 'conn_1'"), `UPDATE outcome SET connection = NONE`}, nil},
		{[]string{outcomeOf(3, "state = 8"), outcomeOf(far+1, "state = 0")}, []string{outcomeOf(3, "state = 3"), outcomeOf(far+1, "state = 3")},
			problems{{Row: 4, Seq: 3, What: "has an outcome that does not exist: state 8"},
				{Row: 8, Seq: far + 1, What: "has an outcome that does not exist: state 0"}}},
		{nil, nil, nil},
	} {
		for _, q := range c.alter {
			alter(t, l, q)
		}
		got, counts, err := l.Audit(t.Context(), r.No, 100)
		if d := diff.Diff(c.want, got); d != "" || err != nil || counts.Problems != int64(len(c.want)) || counts.Rows != 9 {
			t.Errorf("audit after %q counts %d problems of %d rows, %v; want %d of 9, no error (-want +got):\n%s",
				c.alter, counts.Problems, counts.Rows, err, len(c.want), d)
		}
		if len(c.want) > 0 {
			some, counts, err := l.Audit(t.Context(), r.No, 1)
			if !slices.Equal(some, c.want[:1]) || counts.Problems != int64(len(c.want)) || err != nil {
				t.Errorf("audit after %q names %+v of %d, %v; want the first of %d, no error", c.alter, some, counts.Problems, err, len(c.want))
			}
		}
		for _, q := range c.mend {
			alter(t, l, q)
		}
	}
}

// Audit counts the status of each row as a line shows it.
func auditCountsTheStatusesOfTheLines(t *testing.T, l Tables) {
	r := sparse(t, l, "r", 0)
	begin(t, l, r)
	want := map[campaign.Status]int64{}
	for line, err := range l.Lines(t.Context(), r.No) {
		if err != nil {
			t.Fatal(err)
		}
		want[line.Status]++
	}
	_, got, err := l.Audit(t.Context(), r.No, 1)
	if d := diff.Diff(campaign.AuditCounts{Rows: 9, Statuses: want}, got); d != "" || err != nil {
		t.Errorf("audit counts (-want +got), %v; want no error:\n%s", err, d)
	}
}
