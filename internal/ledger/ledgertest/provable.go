package ledgertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Provable puts n deliveries of a run in doubt by a quarantine, and stores the events that prove
// them.
func Provable(t testing.TB, l Restorable, n int64) campaign.Run {
	t.Helper()
	r := Load(t, l, n)
	now := time.Now()
	if got, err := l.Quarantine(t.Context(), campaign.SegmentSize, nil, now.Add(-time.Minute)); err != nil || got != n {
		t.Fatalf("got %+v, %v; want no error, %+v", got, err, n)
	}
	Replayed(t, l, r, 0, n, now.Add(-30*time.Second))
	return r
}

// Replayed applies the statuses sent and delivered of a run's deliveries.
func Replayed(t testing.TB, l campaign.Ledger, r campaign.Run, from, to int64, at time.Time) {
	t.Helper()
	var es []campaign.StatusEvent
	for seq := from; seq < to; seq++ {
		for _, s := range []campaign.Status{campaign.Sent, campaign.Delivered} {
			es = append(es, campaign.StatusEvent{MessageID: MessageID(r.No, seq), Connection: "conn_1", Recipient: 2348030000000 + seq, Status: s,
				At: at, ReceivedAt: time.Now()})
		}
	}
	for batch := range slices.Chunk(es, 2_000) {
		if _, err := l.Apply(t.Context(), campaign.Events{Statuses: batch}); err != nil {
			t.Fatal(err)
		}
	}
}

// SweepAll sweeps until a sweep adopts nothing. most limits the number of sweeps. It returns the
// sum, and how long the longest sweep took.
func SweepAll(t testing.TB, l campaign.Ledger, most int) (sum campaign.Swept, longest time.Duration) {
	t.Helper()
	for range most {
		began := time.Now()
		s, err := l.Sweep(t.Context(), time.Now())
		longest = max(longest, time.Since(began))
		if err != nil {
			t.Fatal(err)
		}
		sum.Matched, sum.Adopted, sum.Ambiguous, sum.Left = sum.Matched+s.Matched, sum.Adopted+s.Adopted, s.Ambiguous, s.Left
		if s.Adopted == 0 {
			break
		}
	}
	return sum, longest
}

// After a quarantine and a replay of the webhooks all doubts can be proven. Sweeps must not adopt
// all of them in one transaction.
func anyNumberOfProvableDoubtsIsAdopted(t *testing.T, l Tables) {
	const n = 2_100 // more than either backend adopts in one transaction
	r := Provable(t, l, n)
	sum, longest := SweepAll(t, l, 30)
	if sum.Adopted != n || sum.Left != 0 {
		t.Errorf("got %+v; want Adopted %+v, Left 0", sum, n)
	}
	if got := Totals(t, l, r.No); got[campaign.Delivered] != n {
		t.Errorf("got %v; want Delivered: %+v", got, n)
	}
	Audited(t, l, r.No)
	t.Logf("the longest sweep took %v", longest)
}

// Ambiguous orphans come first in every sweep. The sweep must examine the orphans after them, too.
func whatStaysAmbiguousKeepsNobodyWaiting(t *testing.T, l Tables) {
	const n = 1_100                         // more than either backend examines for one transaction
	a, b := Load(t, l, n), Load(t, l, n-20) // the last 20 recipients are in one run only
	now := time.Now()
	if got, err := l.Quarantine(t.Context(), campaign.SegmentSize, nil, now.Add(-time.Minute)); err != nil || got != n+n-20 {
		t.Fatalf("got %+v, %v; want no error, %+v", got, err, n+n-20)
	}
	Replayed(t, l, a, 0, n, now.Add(-30*time.Second))
	var sum campaign.Swept
	for n := 0; n < 10 && (sum.Adopted < 20 || sum.Ambiguous == 0); n++ { // one sweep may end before all are done
		s, _ := SweepAll(t, l, 1)
		sum.Adopted, sum.Ambiguous = sum.Adopted+s.Adopted, sum.Ambiguous+s.Ambiguous
	}
	if sum.Adopted != 20 || sum.Ambiguous == 0 {
		t.Errorf("got %+v; want Adopted 20, Ambiguous other than 0", sum)
	}
	if got := Totals(t, l, a.No); got[campaign.Delivered] != 20 {
		t.Errorf("got %v; want Delivered: 20", got)
	}
	Audited(t, l, a.No)
	Audited(t, l, b.No)
}

// Two doubts of one recipient are an hour apart, and so are two messages. Each message proves the
// doubt of its time.
func messagesOfOneRecipientProveEachItsOwn(t *testing.T, l Tables) {
	now := time.Now()
	var runs []campaign.Run
	for i := range 2 {
		at := now.Add(time.Duration(i-2) * time.Hour)
		r := Load(t, l, 1)
		s := ClaimAll(t, l, r.No)[0]
		mustIntend(t, l, campaign.Intent{Lease: s, Connection: "conn_1", To: 1})
		if err := l.Record(t.Context(), []campaign.Result{{Run: r.No, Connection: "conn_1", Attempt: 1,
			Kind: campaign.ResultDoubt, Epoch: s.Epoch, At: at, IntentAt: at}}); err != nil {
			t.Fatal(err)
		}
		Replayed(t, l, r, 0, 1, at.Add(time.Second))
		runs = append(runs, r)
	}
	if sum, _ := SweepAll(t, l, 5); sum.Adopted != 2 || sum.Left != 0 {
		t.Errorf("got %+v; want Adopted 2, Left 0", sum)
	}
	for _, r := range runs {
		for line, err := range l.Lines(t.Context(), r.No) {
			if err != nil || line.MessageID != MessageID(r.No, 0) {
				t.Errorf("got %+v %v; want no error, MessageID %+v", line, err, MessageID(r.No, 0))
			}
		}
	}
}

// A sweep finds the orphans that prove doubts among many orphans of other programs.
func aDoubtIsProvenAmongManyStrangersMessages(t *testing.T, l Tables) {
	const n = 20_000 // from this number on SQLite searches from the doubts, not from the orphans
	alter(t, l, fmt.Sprintf(`WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d)
		INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
		SELECT i, 'stranger.' || i, 1, %[2]d, %[2]d, 5000000000000 + i, 'conn_1', '' FROM s`, n, ledger.Millis(time.Now())))
	r := Provable(t, l, 3)
	if sum, _ := SweepAll(t, l, 2); sum.Adopted != 3 {
		t.Errorf("got %+v; want Adopted 3", sum)
	}
	Audited(t, l, r.No)
}

// SweepStrangers measures sweeps of a few orphans of other programs.
func SweepStrangers(b *testing.B, l campaign.Ledger) {
	b.Helper()
	var es []campaign.StatusEvent
	for i := range int64(10) {
		es = append(es, campaign.StatusEvent{MessageID: fmt.Sprint("wamid.stranger.", i), Status: campaign.Sent, At: time.Now(),
			Recipient: 2348030000000 + 1000*i})
	}
	if _, err := l.Apply(b.Context(), campaign.Events{Statuses: es}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Sweep(b.Context(), time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

// AdoptDoubts measures what 10,000 doubts of parked segments cost, from the events that prove them
// to the end of their run. The doubt window is 24 hours.
func AdoptDoubts(b *testing.B, l campaign.Ledger) {
	b.Helper()
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		r := Load(b, l, n)
		now := time.Now()
		for _, s := range ClaimAll(b, l, r.No) {
			if _, err := l.Intend(b.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Lo, To: s.Hi}}); err != nil {
				b.Fatal(err)
			}
			var rs []campaign.Result
			for seq := s.Lo; seq < s.Hi; seq++ {
				rs = append(rs, campaign.Result{Run: r.No, Seq: seq, Attempt: 1, Kind: campaign.ResultDoubt, Code: "time_out", At: now,
					IntentAt: now, Epoch: s.Epoch})
			}
			for batch := range slices.Chunk(rs, 256) {
				if err := l.Record(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			if p, err := l.Park(b.Context(), s, time.Time{}, After(24*time.Hour)); err != nil || p.Done {
				b.Fatalf("parked %+v, %v; want it open", p, err)
			}
		}
		Replayed(b, l, r, 0, n, now)
		b.StartTimer()
		sum, longest := SweepAll(b, l, 30)
		began := time.Now()
		ended, err := l.FinishRuns(b.Context())
		if err != nil || sum.Adopted != n || len(ended) != 1 {
			b.Fatalf("swept %+v, ended %d runs, %v; want Adopted %d, 1 run", sum, len(ended), err, n)
		}
		b.ReportMetric(longest.Seconds()*1000, "ms/longest-sweep")
		b.ReportMetric(time.Since(began).Seconds()*1000, "ms/finish")
	}
}
