package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Quarantine puts in doubt exactly the deliveries that may have been posted in the lost time: those
// from the mark on, retries that were due, and deliveries in flight.
func quarantineDoubtsWhatMayHaveBeenPosted(t *testing.T, l Tables) {
	const rows = campaign.SegmentSize + 100
	r := Load(t, l, rows)
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1,
		Lease: time.Hour})
	if err != nil || len(leases) != 1 {
		t.Fatalf("got %+v, %v; want no error, length 1", leases, err)
	}
	lease := leases[0]
	mustIntend(t, l, campaign.Intent{Lease: lease, Connection: "conn_1", To: 10})
	now := time.Now()
	deferred := func(seq int64, at time.Time) campaign.Result {
		return campaign.Result{Run: r.No, Seq: seq, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultDeferred,
			At: now, Epoch: lease.Epoch, NotBefore: at, Code: "busy"}
	}
	// 0 to 3 are accepted, 4 was due before the quarantine, 5 is not due yet, 6 to 9 are in flight.
	if err := l.Record(t.Context(), append(Acceptances(lease, 0, 4), deferred(4, now.Add(-time.Second)),
		deferred(5, now.Add(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	since := now.Add(-time.Minute)
	const want = 1 + 4 + 20 + 20
	before := Totals(t, l, r.No)
	if n, err := l.Rehearse(t.Context(), 20, nil, since); err != nil || n != want {
		t.Errorf("a rehearsal says %d, %v; want %d", n, err, want)
	}
	if after := Totals(t, l, r.No); after[campaign.Queued] != before[campaign.Queued] || after[campaign.InDoubt] != before[campaign.InDoubt] {
		t.Errorf("a rehearsal made %v of %v; want Queued: %+v, InDoubt: %+v", after, before, before[campaign.Queued], before[campaign.InDoubt])
	}
	if n, err := l.Quarantine(t.Context(), 20, nil, since); err != nil || n != want {
		t.Errorf("put %d in doubt, %v; want %d", n, err, want)
	}
	if got := Totals(t, l, r.No); got[campaign.Accepted] != 4 || got[campaign.InDoubt] != want || got[campaign.Queued] != rows-4-want {
		t.Errorf("got %v; want Accepted: 4, InDoubt: %+v, Queued: %+v", got, want, rows-4-want)
	}
	Audited(t, l, r.No)
	if got, err := l.Run(t.Context(), r.No); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger ||
		got.Taken != 10+20+20 {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger, Taken %+v", got, err, 10+20+20)
	}
	if g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: 10, To: 11}}); err != nil || !g[0].Fenced {
		t.Errorf("a sender that stayed: %+v %v; want no error, Fenced", g, err)
	}

	// The replayed webhooks prove what was posted, while the run is paused. The second segment
	// has no connection, so any connection may have sent it.
	event := func(seq int64, connection string, at time.Time) campaign.StatusEvent {
		return campaign.StatusEvent{MessageID: MessageID(r.No, seq), Connection: connection, Recipient: 2348030000000 + seq,
			Status: campaign.Delivered, At: at, ReceivedAt: now}
	}
	posted := now.Add(-30 * time.Second)
	if _, err := l.SetWanted(t.Context(), r.No, campaign.WantRun, ""); err != nil {
		t.Fatal(err)
	}
	second, err := l.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 2,
		Lease: time.Hour})
	if err != nil || len(second) != 2 {
		t.Fatalf("got %+v, %v; want no error, length 2", second, err)
	}
	for _, s := range second {
		if n, err := l.Recover(t.Context(), s, now); err != nil || n != 0 {
			t.Errorf("%d were left to recover: %v; want no error, 0", n, err)
		}
		mustIntend(t, l, campaign.Intent{Lease: s, Connection: "conn_1", From: s.Mark, To: s.Mark + 1})
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{
		event(4, "conn_1", posted), event(9, "conn_1", posted), event(10, "conn_1", posted), event(campaign.SegmentSize, "conn_2", posted),
		event(11, "conn_2", posted), event(12, "conn_1", since.Add(-time.Minute)), // another program's
	}}); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Sweep(t.Context(), now); err != nil || s.Adopted != 4 {
		t.Errorf("adopted %+v %v, want 4", s, err)
	}
	Audited(t, l, r.No)
	// The event names the connection that sent it, also after another one has claimed the segment.
	for seq, want := range map[int64]string{4: "conn_1", campaign.SegmentSize: "conn_2"} {
		if got := lineOf(t, l, r.No, seq); got.Connection != want || got.Status != campaign.Delivered {
			t.Errorf("delivery %d: got %s by %q, want delivered by %s", seq, got.Status, got.Connection, want)
		}
	}
}

// A segment that nobody had leased when the backup was made may have been sent to its end in the
// lost time. Nobody leases it again, so its messages have the connection that their events name.
func quarantineKeepsTheConnectionOfAnEvent(t *testing.T, l Tables) {
	r, now := Load(t, l, 5), time.Now()
	if n, err := l.Quarantine(t.Context(), 5, nil, now.Add(-time.Minute)); err != nil || n != 5 {
		t.Fatalf("put %d in doubt, %v; want 5", n, err)
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{
		{MessageID: MessageID(r.No, 2), Connection: "conn_2", Recipient: 2348030000002, Status: campaign.Read, At: now, ReceivedAt: now},
	}}); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Sweep(t.Context(), now); err != nil || s.Adopted != 1 {
		t.Errorf("adopted %+v %v, want 1", s, err)
	}
	if got := lineOf(t, l, r.No, 2); got.Connection != "conn_2" || got.Status != campaign.Read {
		t.Errorf("got %s by %q, want read by conn_2", got.Status, got.Connection)
	}
	Audited(t, l, r.No)
}

// lineOf returns the report's line of one delivery.
func lineOf(t *testing.T, l Tables, no campaign.RunNo, seq int64) campaign.Line {
	t.Helper()
	for line, err := range l.Lines(t.Context(), no) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Seq == seq {
			return line
		}
	}
	t.Fatalf("got no line of delivery %d, want one", seq)
	return campaign.Line{}
}

func quarantinePausesWhatCouldSend(t *testing.T, l Tables) {
	run := func() campaign.Run { return Load(t, l, 3) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pause := func(reason campaign.PauseReason, detail string) campaign.Run {
		r := run()
		if reason == campaign.PausedByOperator {
			_, err := l.SetWanted(t.Context(), r.No, campaign.WantPause, "")
			must(err)
		}
		_, err := l.SetState(t.Context(), r.No, []campaign.State{campaign.Ready}, campaign.Paused, reason, detail)
		must(err)
		return r
	}
	ready, broken, operator := run(), pause(campaign.PausedByBreaker, "it is reviewed"), pause(campaign.PausedByOperator, "")
	cancelled := run()
	_, err := l.SetWanted(t.Context(), cancelled.No, campaign.WantCancel, "")
	must(err)
	importing, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "half"})
	must(err)

	of := map[campaign.RunNo]int64{broken.No: 1} // its own rate is lower
	if n, err := l.Rehearse(t.Context(), 2, of, time.Now().Add(-time.Minute)); err != nil || n != 3*2+1 {
		t.Errorf("a rehearsal says %d, %v; want no error, %d", n, err, 3*2+1)
	}
	if n, err := l.Quarantine(t.Context(), 2, of, time.Now().Add(-time.Minute)); err != nil || n != 3*2+1 {
		t.Errorf("put %d in doubt, %v; want no error, %d", n, err, 3*2+1)
	}
	for _, r := range []campaign.Run{ready, broken, operator, cancelled} {
		want := int64(2)
		if r.No == broken.No {
			want = 1
		}
		if got := Totals(t, l, r.No)[campaign.InDoubt]; got != want {
			t.Errorf("%s: got %d in doubt, want %d", r.ID(), got, want)
		}
	}
	for _, c := range []struct {
		run    campaign.Run
		state  campaign.State
		reason campaign.PauseReason
		wanted campaign.Wanted
		detail string
	}{
		{ready, campaign.Paused, campaign.PausedByLedger, campaign.WantRun, "replay"},
		{broken, campaign.Paused, campaign.PausedByLedger, campaign.WantRun, "it was paused before: breaker it is reviewed"},
		{operator, campaign.Paused, campaign.PausedByOperator, campaign.WantPause, ""},
		{cancelled, campaign.Ready, "", campaign.WantCancel, ""},
		{importing, campaign.Importing, "", campaign.WantPause, ""},
	} {
		got, err := l.Run(t.Context(), c.run.No)
		must(err)
		if got.State != c.state || got.Reason != c.reason || got.Wanted != c.wanted || !strings.Contains(got.Detail, c.detail) {
			t.Errorf("%+v, want %s %s %s %q", got, c.state, c.reason, c.wanted, c.detail)
		}
	}
}

func quarantineCountsAgainstTheBudgetAndNotBeyondIt(t *testing.T, l Tables) {
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "x", Budget: 15})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendRows(t.Context(), r.No, 0, Rows(0, 100), []campaign.Segment{{Run: r.No, Hi: 100}}); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), r.No, 100, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{8, 15} {
		if n, err := l.Quarantine(t.Context(), 8, nil, time.Now()); err != nil || n != 8 {
			t.Errorf("put %d in doubt, %v; want no error, 8", n, err)
		}
		if got, err := l.Run(t.Context(), r.No); err != nil || got.Taken != want {
			t.Errorf("%d of %d are taken, want %d: %v", got.Taken, got.Budget, want, err)
		}
	}
	Audited(t, l, r.No)
}

func quarantineOfNothingAcceptsTheLedgerAsItStands(t *testing.T, l Tables) {
	r := Load(t, l, 10)
	if n, err := l.Quarantine(t.Context(), 0, nil, time.Now()); err != nil || n != 0 {
		t.Errorf("put %d in doubt, %v; want no error, 0", n, err)
	}
	if got, err := l.Run(t.Context(), r.No); err != nil || got.State != campaign.Ready {
		t.Errorf("got %+v %v; want no error, State Ready", got, err)
	}
	if err := l.Restored(t.Context()); err != nil {
		t.Error(err)
	}
}

// The deliveries are edge cases: due now and a millisecond later, the last below the mark and the
// first above it, in a segment with a connection, in one without and in one that is done.
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
		fmt.Sprintf(`DELETE FROM attempt WHERE rid >= %d`, ledger.RowID(r.No, 0)),
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
		seq                                       int64
		state                                     ledger.Outcome
		attempt, resultAt, intentAt, due, explain int64
		code                                      string
		open                                      string // attempt, not posted before, not posted after, connection
	}{
		{0, ledger.Doubt, 1, now, since, 0, 0, ledger.CodeRestored, "1 500000 1000000 conn_1"},
		{1, ledger.Doubt, 2, now, 400_000, 0, 0, ledger.CodeRestored, "2 400000 1000000 conn_1"},
		{2, ledger.Deferred, 1, 0, 400_000, now + 1, 0, "", "none"},
		{3, ledger.Doubt, 1, now, 300_000, 0, 0, ledger.CodeRestored, "1 300000 1000000 conn_1"},
		{4, ledger.Doubt, 1, now, since, 0, 0, ledger.CodeRestored, "1 500000 1000000 conn_1"},
		{5, ledger.Doubt, 2, now, since, 0, 0, ledger.CodeRestored, "2 500000 1000000 conn_1"},
		{far, ledger.Doubt, 1, now, since, 0, 0, ledger.CodeRestored, "1 500000 1000000 "}, // of any connection
		{far + 1, ledger.Deferred, 0, 0, 0, now + 1, 0, "", "none"},
		{far + 2, ledger.Doubt, 1, 7, 6, 0, 0, "time_out", "1 6 7 "},
	} {
		got := stored(t, l, fmt.Sprintf(`SELECT state || ' ' || attempt || ' ' || coalesce(result_at, 0) || ' ' ||
				coalesce(intent_at, 0) || ' ' || coalesce(next_due, 0) || ' ' || flags || ' ' ||
				length(coalesce(detail, '') || coalesce(request_id, '') || coalesce(trace_id, '')) || ' ' || coalesce(code, '') || ' ' ||
				coalesce((SELECT attempt || ' ' || intent_at || ' ' || doubt_at || ' ' || connection FROM attempt a
					WHERE a.rid = o.rid AND key = %d), 'none')
				FROM outcome o WHERE rid = %d`, 2348030000000+c.seq, ledger.RowID(r.No, c.seq)))
		if want := fmt.Sprint(int(c.state), c.attempt, c.resultAt, c.intentAt, c.due, 0, c.explain) + " " + c.code + " " + c.open; got != want {
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
	// The quarantine also counts as granted the deliveries that the marks passed, and the retry that
	// was never granted.
	for no, want := range map[campaign.RunNo]int64{before.No: 6, r.No: 6 + 2 + 1} {
		if got, err := l.Run(t.Context(), no); err != nil || got.Taken != want {
			t.Errorf("run %d has %d granted, %v; want %d", no, got.Taken, err, want)
		}
	}
}

// A wire log has the posts that had no durable result. A ledger that went back in time has lost
// results, so a wire log of the time before cannot prove that an attempt was not posted.
func quarantineEndsWhatWireLogsProve(t *testing.T, l Tables) {
	f := &fixture{T: t, l: l, ctx: t.Context()}
	for _, ahead := range []int64{0, 2} {
		r := f.imported(10)
		f.sent(f.leaseOf("dead", r.No, gone), 0, 3)
		f.sent(f.leaseOf("heir", r.No, gone), 3, 5)
		if _, err := l.Quarantine(t.Context(), ahead, nil, time.Now()); err != nil {
			t.Fatal(err)
		}
		f.unposted("dead", 0)
		f.unposted("heir", 0)
	}
}
