package ledgertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	diff "github.com/google/go-cmp/cmp"
)

// farSegment is the first segment of the second step of Audit.
const farSegment = ledger.AuditStep / campaign.SegmentSize

// sparse makes a run of seq 0 to 5 and 65536 to 65538, with the rows 1 to 9. The second part lies
// in another segment and in another step of Audit.
func sparse(t *testing.T, l campaign.Ledger, name string, budget int64) campaign.Run {
	t.Helper()
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: name, Budget: budget})
	if err != nil {
		t.Fatalf("creating run %s: %v; want no error", name, err)
	}
	ds := append(Rows(0, 6), Rows(ledger.AuditStep, ledger.AuditStep+3)...)
	for i := range ds {
		ds[i].Row = int64(i) + 1
	}
	if err := l.AppendRows(t.Context(), r.No, 0, ds, []campaign.Segment{{Run: r.No, Hi: 6},
		{Run: r.No, Index: farSegment, Lo: ledger.AuditStep, Hi: ledger.AuditStep + 3}}); err != nil {
		t.Fatalf("appending to run %d: %v; want no error", r.No, err)
	}
	if err := l.FinishImport(t.Context(), r.No, int64(len(ds)), campaign.Ready); err != nil {
		t.Fatalf("finishing the import of run %d: %v; want no error", r.No, err)
	}
	return r
}

// begin sends 0 to 3 and 65536 to 65537 of a sparse run. The first four become accepted, accepted,
// refused and in doubt. The last two become accepted and in doubt.
func begin(t *testing.T, l campaign.Ledger, r campaign.Run) {
	t.Helper()
	ls := ClaimAll(t, l, r.No)
	if len(ls) != 2 {
		t.Fatalf("claimed %d segments, want 2", len(ls))
	}
	fact := func(s campaign.Lease, seq int64, k campaign.ResultKind) campaign.Result {
		return campaign.Result{Run: r.No, Seq: seq, Connection: "conn_1", Attempt: 1, Kind: k, Code: "131026", At: time.Now(),
			IntentAt: time.Now(), Epoch: s.Epoch}
	}
	for i, to := range []int64{4, ledger.AuditStep + 2} {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[i], Connection: "conn_1", From: ls[i].Lo, To: to}})
		if err != nil || g[0].To != to {
			t.Fatalf("intent to %d: %+v %v; want no error, To %d", to, g, err, to)
		}
	}
	rs := append(Acceptances(ls[0], 0, 2), Acceptances(ls[1], ledger.AuditStep, ledger.AuditStep+1)...)
	rs = append(rs, fact(ls[0], 2, campaign.ResultRefused), fact(ls[0], 3, campaign.ResultDoubt),
		fact(ls[1], ledger.AuditStep+1, campaign.ResultDoubt))
	mustRecord(t, l, rs)
}

// Audit reports exactly the fault of each case. It reports nothing of the runs before and after,
// of the rows around the fault, or of a segment that is sound.
func auditFindsEachFaultAndNothingElse(t *testing.T, l Tables) {
	before, r, after := sparse(t, l, "before", 0), sparse(t, l, "r", 6), sparse(t, l, "after", 0)
	begin(t, l, before)
	begin(t, l, r)
	Audited(t, l, before.No)
	Audited(t, l, after.No)
	outcomeOf := func(seq int64, set string) string {
		return fmt.Sprintf(`UPDATE outcome SET %s WHERE rid = %d`, set, ledger.RowID(r.No, seq))
	}
	segmentOf := func(index int64, set string) string {
		return fmt.Sprintf(`UPDATE segment SET %s WHERE id = %d`, set, ledger.SegmentKey(r.No, index))
	}
	newOutcome := func(seq int64) string {
		return fmt.Sprintf(`INSERT INTO outcome (rid, state) VALUES (%d, 7)`, ledger.RowID(r.No, seq))
	}
	noOutcome := func(seq int64) string {
		return fmt.Sprintf(`DELETE FROM outcome WHERE rid = %d`, ledger.RowID(r.No, seq))
	}
	newSegment := func(index, lo, hi int64) string {
		return fmt.Sprintf(`INSERT INTO segment (id, run, lo, hi, mark, done, closed, zone) VALUES (%d, %d, %d, %d, %d, FALSE, FALSE, '')`,
			ledger.SegmentKey(r.No, index), r.No, lo, hi, lo)
	}
	noSegment := func(index int64) string {
		return fmt.Sprintf(`DELETE FROM segment WHERE id = %d`, ledger.SegmentKey(r.No, index))
	}
	ofRun := func(set string) string { return fmt.Sprintf(`UPDATE run SET %s WHERE no = %d`, set, r.No) }
	keyOf := func(seq, key int64) string {
		return fmt.Sprintf(`UPDATE delivery SET key = %d WHERE rid = %d`, key, ledger.RowID(r.No, seq))
	}
	about := func(row, seq int64, what string, a ...any) campaign.Problem {
		return campaign.Problem{Row: row, Seq: seq, What: fmt.Sprintf(what, a...)}
	}
	unmarked := func(row, seq int64, state ledger.Outcome) campaign.Problem {
		return about(row, seq, "was posted without an intent: it is above its segment's mark, in state %d", state)
	}
	open := func(row, seq int64) campaign.Problem {
		return about(row, seq, "has no outcome though its segment is done")
	}
	nameless := func(row, seq int64, state ledger.Outcome) campaign.Problem {
		return about(row, seq, "is accepted without a message id, or has one without being accepted: state %d", state)
	}
	ranked := func(row, seq int64, r ledger.Rank) campaign.Problem {
		return about(row, seq, "has a status that its times do not explain: rank %d", r)
	}
	borders := func(index, lo, hi, mark int64) campaign.Problem {
		return about(0, lo, "segment %d has its mark or borders out of bounds: %d to %d, mark %d", index, lo, hi, mark)
	}
	type problems = []campaign.Problem
	const far = ledger.AuditStep
	for _, c := range []struct {
		alter, mend []string
		want        problems
	}{
		{nil, nil, nil},
		{[]string{newOutcome(6), newOutcome(far + 3), newOutcome(2 * far)}, []string{noOutcome(6), noOutcome(far + 3), noOutcome(2 * far)},
			problems{about(0, 6, "has an outcome but no delivery: outcome 7"), about(0, far+3, "has an outcome but no delivery: outcome 7"),
				about(0, 2*far, "has an outcome but no delivery: outcome 7")}},
		{[]string{segmentOf(0, "hi = 5"), segmentOf(farSegment, "hi = 65538")},
			[]string{segmentOf(0, "hi = 6"), segmentOf(farSegment, "hi = 65539")},
			problems{about(0, 0, "its segments cover 7 deliveries of 9"), about(6, 5, "lies in no segment"), about(9, far+2, "lies in no segment")}},
		{[]string{segmentOf(0, "lo = 1"), segmentOf(farSegment, "lo = 65537")},
			[]string{segmentOf(0, "lo = 0"), segmentOf(farSegment, "lo = 65536")},
			problems{about(0, 0, "its segments cover 7 deliveries of 9"), borders(0, 1, 6, 4), borders(farSegment, far+1, far+3, far+2),
				about(1, 0, "lies in no segment"), about(7, far, "lies in no segment")}},
		{[]string{segmentOf(0, "mark = 3")}, []string{segmentOf(0, "mark = 4")}, problems{unmarked(4, 3, ledger.Doubt)}},
		{[]string{segmentOf(0, "mark = 3, closed = TRUE")}, []string{segmentOf(0, "mark = 4, closed = FALSE")}, nil},
		{[]string{segmentOf(0, "mark = 3"), outcomeOf(3, "state = 7, code = 'expired'")},
			[]string{segmentOf(0, "mark = 4"), outcomeOf(3, "state = 3, code = '131026'")}, nil},
		{[]string{segmentOf(0, "mark = 0"), segmentOf(farSegment, "mark = 65536")},
			[]string{segmentOf(0, "mark = 4"), segmentOf(farSegment, "mark = 65538")},
			problems{unmarked(1, 0, ledger.Accepted), unmarked(2, 1, ledger.Accepted), unmarked(3, 2, ledger.Refused),
				unmarked(4, 3, ledger.Doubt), unmarked(7, far, ledger.Accepted), unmarked(8, far+1, ledger.Doubt)}},
		{[]string{segmentOf(0, "mark = 6")}, []string{segmentOf(0, "mark = 4")}, nil},
		{[]string{segmentOf(0, "mark = 7")}, []string{segmentOf(0, "mark = 4")}, problems{borders(0, 0, 6, 7)}},
		{[]string{segmentOf(farSegment, "mark = 65535")}, []string{segmentOf(farSegment, "mark = 65538")},
			problems{borders(farSegment, far, far+3, far-1), unmarked(7, far, ledger.Accepted), unmarked(8, far+1, ledger.Doubt)}},
		{[]string{newSegment(1, 4096, 4096)}, []string{noSegment(1)}, nil},
		{[]string{newSegment(1, 4096, 4095)}, []string{noSegment(1)},
			problems{about(0, 0, "its segments cover 8 deliveries of 9"), borders(1, 4096, 4095, 4096)}},
		{[]string{newSegment(1, 4096, 8192)}, []string{noSegment(1)}, problems{about(0, 0, "its segments cover 4105 deliveries of 9")}},
		{[]string{newSegment(1, 4096, 8193)}, []string{noSegment(1)},
			problems{about(0, 0, "its segments cover 4106 deliveries of 9"), borders(1, 4096, 8193, 4096)}},
		{[]string{segmentOf(0, "done = TRUE"), segmentOf(farSegment, "done = TRUE"), outcomeOf(0, "state = 1"), outcomeOf(far, "state = 2")},
			[]string{segmentOf(0, "done = FALSE"), segmentOf(farSegment, "done = FALSE"), outcomeOf(0, "state = 5"), outcomeOf(far, "state = 5")},
			problems{open(1, 0), nameless(1, 0, ledger.Deferred), open(4, 3), open(5, 4), open(6, 5),
				open(7, far), nameless(7, far, ledger.Retrying), open(8, far+1), open(9, far+2)}},
		{[]string{segmentOf(0, "done = TRUE"), outcomeOf(3, "state = 4")}, []string{segmentOf(0, "done = FALSE"), outcomeOf(3, "state = 3")},
			problems{open(5, 4), open(6, 5)}},
		{[]string{`UPDATE outcome SET message_id = NONE WHERE state = 5`}, []string{`UPDATE outcome SET message_id = 'wamid' WHERE state = 5`},
			problems{nameless(1, 0, ledger.Accepted), nameless(2, 1, ledger.Accepted), nameless(7, far, ledger.Accepted)}},
		{[]string{`UPDATE outcome SET message_id = NONE, mh = ZERO WHERE state = 5`},
			[]string{`UPDATE outcome SET message_id = 'wamid', mh = 1 WHERE state = 5`},
			problems{nameless(1, 0, ledger.Accepted), nameless(2, 1, ledger.Accepted), nameless(7, far, ledger.Accepted)}},
		{[]string{outcomeOf(0, "mh = ZERO"), outcomeOf(2, "mh = 2"), outcomeOf(far+1, "mh = 2, message_id = 'wamid'")},
			[]string{outcomeOf(0, "mh = 1"), outcomeOf(2, "mh = ZERO"), outcomeOf(far+1, "mh = ZERO, message_id = NONE")},
			problems{nameless(1, 0, ledger.Accepted), nameless(3, 2, ledger.Refused), nameless(8, far+1, ledger.Doubt)}},
		{[]string{outcomeOf(0, "rank = 4, read_at = 1, delivered_at = 1, failed_at = 1, sent_at = 1"),
			outcomeOf(1, "rank = 3, delivered_at = 1, failed_at = 1, sent_at = 1"),
			outcomeOf(2, "rank = 2, failed_at = 1, sent_at = 1"), outcomeOf(3, "rank = 1, sent_at = 1"), outcomeOf(far, "rank = 4, read_at = 1")},
			nil, nil},
		{[]string{fmt.Sprintf(`INSERT INTO conversion (order_id, rid, accepted_at, held_out) VALUES ('gone', %d, 0, 0)`, ledger.RowID(r.No, 1))},
			[]string{`DELETE FROM conversion`},
			problems{about(2, 1, "is counted with an order that the ledger does not have, or was held out and sent to: order gone")}},
		{[]string{`INSERT INTO purchase (id, key, created_at, updated_at, due, ended, was_paid, amount, currency)
			VALUES ('o', 0, 1, 1, 0, 0, 1, '1', 'EUR')`,
			fmt.Sprintf(`INSERT INTO conversion (order_id, rid, accepted_at, held_out) VALUES ('o', %d, 0, 1), ('o', %d, 1, 0), ('o', %d, 1, 1)`,
				ledger.RowID(r.No, 0), ledger.RowID(r.No, 1), ledger.RowID(r.No, far))},
			[]string{`DELETE FROM conversion`, `DELETE FROM purchase`},
			problems{about(7, far, "is counted with an order that the ledger does not have, or was held out and sent to: order o")}},
		{[]string{outcomeOf(0, "rank = 3"), outcomeOf(1, "rank = 2"), outcomeOf(2, "rank = 1"), outcomeOf(3, "rank = 0"),
			outcomeOf(far, "rank = 5"), outcomeOf(far+1, "rank = 1")},
			[]string{`UPDATE outcome SET rank = 0, read_at = ZERO, delivered_at = ZERO, failed_at = ZERO, sent_at = ZERO`},
			problems{ranked(1, 0, 3), ranked(2, 1, 2), ranked(3, 2, 1), ranked(4, 3, 0), ranked(7, far, 5), ranked(8, far+1, 1)}},
		{[]string{ofRun("budget = 5")}, []string{ofRun("budget = 6")}, problems{about(0, 0, "6 deliveries were granted, max_messages is 5")}},
		{[]string{keyOf(5, 2348030000004), keyOf(far+2, 2348030000002)}, []string{keyOf(5, 2348030000005), keyOf(far+2, 2348030000000+far+2)},
			problems{about(6, 5, "its phone number is queued in an earlier row too"),
				about(9, far+2, "its phone number is queued in an earlier row too")}},
		{[]string{keyOf(0, 0), keyOf(5, 0)}, []string{keyOf(0, 2348030000000), keyOf(5, 2348030000005)},
			problems{about(1, 0, "is not skipped, but the row has no phone number"),
				about(6, 5, "is not skipped, but the row has no phone number")}},
		{[]string{keyOf(5, 2348030000002), outcomeOf(2, "state = 7, code = 'expired'")},
			[]string{keyOf(5, 2348030000005), outcomeOf(2, "state = 6, code = '131026'")}, nil},
		{[]string{fmt.Sprintf(`UPDATE delivery SET rid = rid + 3 WHERE rid = %d`, ledger.RowID(r.No, 5)),
			fmt.Sprintf(`UPDATE run_count SET rows = 10 WHERE no = %d`, r.No)},
			[]string{fmt.Sprintf(`UPDATE delivery SET rid = rid - 3 WHERE rid = %d`, ledger.RowID(r.No, 8)),
				fmt.Sprintf(`UPDATE run_count SET rows = 9 WHERE no = %d`, r.No)},
			problems{about(0, 0, "the run counts 10 rows, the ledger holds 9 deliveries"), about(10, 0, "this row has no delivery"),
				about(6, 8, "lies in no segment")}},
		{nil, nil, nil},
	} {
		for _, q := range c.alter {
			alter(t, l, q)
		}
		got, _, err := l.Audit(t.Context(), r.No, 100)
		if err != nil {
			t.Fatalf("audit: %v; want no error", err)
		}
		sorted := func(ps problems) problems {
			return slices.SortedFunc(slices.Values(ps), func(a, b campaign.Problem) int {
				return cmp.Or(cmp.Compare(a.Seq, b.Seq),
					cmp.Compare(a.What, b.What))
			})
		}
		if d := diff.Diff(sorted(c.want), sorted(got)); d != "" {
			t.Errorf("audit after %q (-want +got):\n%s", c.alter, d)
		}
		for limit := range len(c.want) + 1 {
			if some, _, err := l.Audit(t.Context(), r.No, limit); err != nil || len(some) != limit {
				t.Errorf("audit after %q found %d problems, %v; want the limit %d", c.alter, len(some), err, limit)
			}
		}
		for _, q := range c.mend {
			alter(t, l, q)
		}
	}
}

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
		found, _, err := l.Audit(t.Context(), r.No, 10)
		var got []string
		for _, p := range found {
			if strings.Contains(p.What, "out of bounds") || strings.Contains(p.What, "deliveries") {
				got = append(got, p.What)
			}
		}
		if d := diff.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: the audit says (-want +got), %v; want no error:\n%s", name, err, d)
		}
	}
	Audited(t, l, other.No)
}
