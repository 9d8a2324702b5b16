package ledgertest

import (
	"fmt"
	"slices"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// The deliveries are edge cases: due now and a millisecond later, the last below the mark and the first
// above it, in a bound segment, in one that was never bound and in one that is done.
func quarantineStopsAtItsEdges(t *testing.T, l Tables) {
	const now, since, far = 1_000_000, 500_000, ledger.AuditStep
	before, r := sparse(t, l, "before", 0), sparse(t, l, "r", 0)
	begin(t, l, before)
	begin(t, l, r)
	of := func(seq int64, columns, values string) string {
		return fmt.Sprintf(`INSERT INTO outcome (rid, %s) VALUES (%d, %s)`, columns, ledger.RowID(r.No, seq), values)
	}
	for _, q := range []string{
		fmt.Sprintf(`UPDATE segment SET done = TRUE WHERE run = %d`, before.No),
		fmt.Sprintf(`UPDATE outcome SET state = 2 WHERE rid < %d`, ledger.RowID(r.No, 0)),
		fmt.Sprintf(`UPDATE segment SET intents_since = 300000 WHERE id = %d`, ledger.SegmentKey(r.No, 0)),
		fmt.Sprintf(`UPDATE segment SET intents_since = 0, connection = '', mark = lo WHERE id = %d`, ledger.SegmentKey(r.No, farSegment)),
		fmt.Sprintf(`DELETE FROM outcome WHERE rid >= %d`, ledger.RowID(r.No, 0)),
		of(0, "state, attempt, next_due, code, detail, request_id, trace_id", "1, 0, 1000000, 'busy', 'wait', 'req', 'trace'"), // never granted
		of(1, "state, attempt, next_due, intent_at", "1, 1, 1000000, 400000"),
		of(2, "state, attempt, next_due, intent_at", "1, 1, 1000001, 400000"), // due a millisecond later
		of(5, "state, attempt, intent_at", "2, 2, 600000"),
		of(far+1, "state, attempt, next_due", "1, 0, 1000001"),
		of(far+2, "state, attempt, result_at, intent_at, code", "3, 1, 7, 6, 'time_out'"), // in doubt already
	} {
		alter(t, l, q)
	}
	neighbours := fmt.Sprintf(`SELECT count(*) || ' in flight' FROM outcome WHERE rid < %d AND state = 2`, ledger.RowID(r.No, 0))
	wantNeighbours := stored(t, l, neighbours)

	const want = 1 + 2 + 3 // in flight: 3; above the marks: 4 and 65536; retries: 0, 1 and 5
	if n := quarantineAt(t, l, 1, since, now); n != want {
		t.Errorf("put %d in doubt, want %d", n, want)
	}
	for _, c := range []struct {
		seq                                                     int64
		state                                                   ledger.Outcome
		attempt, resultAt, intentAt, due, flags, keyed, explain int64
		code                                                    string
	}{
		{0, ledger.Doubt, 1, now, since, 0, 0, 1, 0, ledger.CodeRestored},
		{1, ledger.Doubt, 2, now, 400_000, 0, 0, 1, 0, ledger.CodeRestored},
		{2, ledger.Deferred, 1, 0, 400_000, now + 1, 0, 0, 0, ""},
		{3, ledger.Doubt, 1, now, 300_000, 0, 0, 1, 0, ledger.CodeRestored},
		{4, ledger.Doubt, 1, now, since, 0, 0, 1, 0, ledger.CodeRestored},
		{5, ledger.Doubt, 2, now, since, 0, 0, 1, 0, ledger.CodeRestored},
		{far, ledger.Doubt, 1, now, since, 0, ledger.FlagAnyConnection, 1, 0, ledger.CodeRestored},
		{far + 1, ledger.Deferred, 0, 0, 0, now + 1, 0, 0, 0, ""},
		{far + 2, ledger.Doubt, 1, 7, 6, 0, 0, 0, 0, "time_out"},
	} {
		got := stored(t, l, fmt.Sprintf(`SELECT state || ' ' || attempt || ' ' || coalesce(result_at, 0) || ' ' ||
				coalesce(intent_at, 0) || ' ' || coalesce(next_due, 0) || ' ' || flags || ' ' ||
				CASE WHEN coalesce(key, 0) = 0 THEN 0 ELSE 1 END || ' ' ||
				length(coalesce(detail, '') || coalesce(request_id, '') || coalesce(trace_id, '')) || ' ' || coalesce(code, '')
				FROM outcome WHERE rid = %d`, ledger.RowID(r.No, c.seq)))
		if want := fmt.Sprint(int(c.state), c.attempt, c.resultAt, c.intentAt, c.due, c.flags, c.keyed, c.explain) + " " + c.code; got != want {
			t.Errorf("seq %d is %q, want %q", c.seq, got, want)
		}
	}
	if got := stored(t, l, neighbours); got != wantNeighbours {
		t.Errorf("of the segments that are done %s, want %s", got, wantNeighbours)
	}
	ss, err := l.SegmentStates(t.Context(), r.No)
	if err != nil || len(ss) != 2 {
		t.Fatalf("segments %+v %v; want 2, no error", ss, err)
	}
	marks := []int64{ss[0].Mark, ss[0].Epoch, ss[1].Mark, ss[1].Epoch}
	if want := []int64{5, 2, far + 1, 2}; !slices.Equal(marks, want) {
		t.Errorf("marks and epochs %v, want %v", marks, want)
	}
	for _, s := range ss {
		if !s.LeaseUntil.IsZero() || !s.WakeAt.IsZero() || s.Owner != "" {
			t.Errorf("segment %d is still %q's until %s; want nobody's", s.Index, s.Owner, s.LeaseUntil)
		}
	}
	// Counted now: the deliveries that the marks passed, and the retry that was never granted.
	for no, want := range map[campaign.RunNo]int64{before.No: 6, r.No: 6 + 2 + 1} {
		if got, err := l.Run(t.Context(), no); err != nil || got.Taken != want {
			t.Errorf("run %d has %d granted, %v; want %d", no, got.Taken, err, want)
		}
	}
}
