//go:build unix

package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// asked changes the ledger by hand, over the pool without the hot settings.
func asked(t testing.TB, l *Postgres, qs ...*query) {
	t.Helper()
	if err := l.read(t.Context(), l.reports, qs...); err != nil {
		t.Fatal(err)
	}
}

// provable puts n deliveries of a run in doubt by quarantine, and gives each its webhook.
func provable(t testing.TB, l restorable, n int64) campaign.Run {
	t.Helper()
	r := load(t, l, n)
	now := time.Now()
	if got, err := l.Quarantine(t.Context(), campaign.SegmentSize, now.Add(-time.Minute)); err != nil || got != n {
		t.Fatalf("got %+v, %v; want no error, %+v", got, err, n)
	}
	replayed(t, l, r, 0, n, now.Add(-30*time.Second))
	return r
}

// replayed applies sent and delivered of a run's deliveries.
func replayed(t testing.TB, l campaign.Ledger, r campaign.Run, from, to int64, at time.Time) {
	t.Helper()
	var es []campaign.StatusEvent
	for seq := from; seq < to; seq++ {
		for _, s := range []campaign.Status{campaign.Sent, campaign.Delivered} {
			es = append(es, campaign.StatusEvent{MessageID: wamid(r.No, seq), Connection: "conn_1", Recipient: 2348030000000 + seq, Status: s, At: at, ReceivedAt: time.Now()})
		}
	}
	for batch := range slices.Chunk(es, 2_000) {
		if _, err := l.Apply(t.Context(), campaign.Events{Statuses: batch}); err != nil {
			t.Fatal(err)
		}
	}
}

// sweepAll sweeps until a sweep adopts nothing, and returns what all of them did and the longest one's time.
func sweepAll(t testing.TB, l campaign.Ledger, most int) (sum campaign.Swept, longest time.Duration) {
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

// After a quarantine and a replay of the webhooks all doubts can be proven at once. No sweep may try them all in one transaction.
func TestAnyNumberOfProvableDoubtsIsAdopted(t *testing.T) {
	const n = 2*adoptStep + 100
	onEachBackend(t, func(t *testing.T, l restorable) {
		r := provable(t, l, n)
		sum, longest := sweepAll(t, l, 30)
		if sum.Adopted != n || sum.Left != 0 {
			t.Errorf("got %+v; want Adopted %+v, Left 0", sum, n)
		}
		if got := totals(t, l, r.No); got[campaign.Delivered] != n {
			t.Errorf("got %v; want Delivered: %+v", got, n)
		}
		audited(t, l, r.No)
		t.Logf("the longest sweep took %v", longest)
		if p, ok := l.(*Postgres); ok {
			var most int64
			asked(t, p, row(&most, `SELECT max(n) FROM (SELECT count(*) AS n FROM outcome GROUP BY xmin::text) x`))
			if most > adoptStep {
				t.Errorf("one transaction adopted %d, want at most %d", most, adoptStep)
			}
		}
	})
}

// What stays ambiguous is at the head of every round: it must not be all that a sweep looks at.
func TestWhatStaysAmbiguousKeepsNobodyWaiting(t *testing.T) {
	const n = adoptStep + 100
	onEachBackend(t, func(t *testing.T, l restorable) {
		a, b := load(t, l, n), load(t, l, n-20) // the last 20 are in one run only
		now := time.Now()
		if got, err := l.Quarantine(t.Context(), campaign.SegmentSize, now.Add(-time.Minute)); err != nil || got != n+n-20 {
			t.Fatalf("got %+v, %v; want no error, %+v", got, err, n+n-20)
		}
		replayed(t, l, a, 0, n, now.Add(-30*time.Second))
		var sum campaign.Swept
		for n := 0; n < 10 && (sum.Adopted < 20 || sum.Ambiguous == 0); n++ { // a sweep whose time is up goes on at the next
			s, _ := sweepAll(t, l, 1)
			sum.Adopted, sum.Ambiguous = sum.Adopted+s.Adopted, sum.Ambiguous+s.Ambiguous
		}
		if sum.Adopted != 20 || sum.Ambiguous == 0 {
			t.Errorf("got %+v; want Adopted 20, Ambiguous other than 0", sum)
		}
		if got := totals(t, l, a.No); got[campaign.Delivered] != 20 {
			t.Errorf("got %v; want Delivered: 20", got)
		}
		audited(t, l, a.No)
		audited(t, l, b.No)
	})
}

// Two doubts and two messages of one recipient, apart in time: each message proves one.
func TestMessagesOfOneRecipientProveEachItsOwn(t *testing.T) {
	onEachBackend(t, func(t *testing.T, l restorable) {
		now := time.Now()
		var runs []campaign.Run
		for i := range 2 {
			at := now.Add(time.Duration(i-2) * time.Hour)
			r := load(t, l, 1)
			s := claimAll(t, l, r.No)[0]
			if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", To: 1}}); err != nil {
				t.Fatal(err)
			}
			if err := l.Record(t.Context(), []campaign.Result{{Run: r.No, Key: 2348030000000, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultDoubt, Epoch: s.Epoch, At: at, IntentAt: at}}); err != nil {
				t.Fatal(err)
			}
			replayed(t, l, r, 0, 1, at.Add(time.Second))
			runs = append(runs, r)
		}
		if sum, _ := sweepAll(t, l, 5); sum.Adopted != 2 || sum.Left != 0 {
			t.Errorf("got %+v; want Adopted 2, Left 0", sum)
		}
		for _, r := range runs {
			for line, err := range l.Lines(t.Context(), r.No) {
				if err != nil || line.MessageID != wamid(r.No, 0) {
					t.Errorf("got %+v %v; want no error, MessageID %+v", line, err, wamid(r.No, 0))
				}
			}
		}
	})
}

// A doubt that was decided between the snapshot and the transaction may be sent again by then: the orphan may be its
// message, however alone another doubt is left.
func TestADoubtDecidedMeanwhileMayHaveSentTheMessage(t *testing.T) {
	o := orphan{messageID: "x", first: 2000}
	a, b := suspect{rid: 1, intentAt: 1000, since: 1500}, suspect{rid: 2, intentAt: 1000, since: 1500}
	for _, c := range []struct {
		name      string
		now, then []suspect
		want      int64
	}{
		{"as it was", []suspect{a}, []suspect{a}, 1},
		{"decided meanwhile", []suspect{b}, []suspect{a, b}, 0},
		{"in doubt meanwhile", []suspect{a}, []suspect{{rid: 1, intentAt: 1000, open: true}}, 0},
	} {
		if v := judge(o, suspects(c.now, c.then)); v.adopt != c.want {
			t.Errorf("%s: %+v, want %d", c.name, v, c.want)
		}
	}
}

// strangers fills the table of orphans by hand: n of other programs' recipients, received a millisecond after each other.
func strangers(t testing.TB, l *Postgres, n int64) {
	t.Helper()
	asked(t, l, stmt(nil, `INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
		SELECT hashint8extended(i, 7), 'stranger.' || i, 1, $2::bigint + i, $2::bigint + i, 5000000000000 + i, 'conn_1', '' FROM generate_series(1, $1::bigint) i`, n, millis(time.Now())-n))
}

// However many messages of strangers wait, those of doubts are found among them.
func TestADoubtIsProvenAmongManyStrangersMessages(t *testing.T) {
	onEachBackend(t, func(t *testing.T, l restorable) {
		switch l := l.(type) {
		case *Postgres:
			strangers(t, l, fewOrphans)
		case *SQLite:
			if err := l.submit(t.Context(), &op{run: func(t *tx) error {
				_, err := t.exec(`WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ?)
					INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code) SELECT i, 'stranger.' || i, 1, ?2, ?2, 5000000000000 + i, 'conn_1', '' FROM s`,
					fewOrphans, millis(time.Now()))
				return err
			}}); err != nil {
				t.Fatal(err)
			}
		}
		r := provable(t, l, 3)
		if sum, _ := sweepAll(t, l, 2); sum.Adopted != 3 {
			t.Errorf("got %+v; want Adopted 3", sum)
		}
		audited(t, l, r.No)
	})
}

// The server's statistics are as old as the last autovacuum: orphans are dropped for their number by what is counted.
func TestOnlyTheOrphansBeyondTheirNumberAreDropped(t *testing.T) {
	const most = 20_000
	l := openShared(t, Options{Sender: true})
	strangers(t, l, most+12_000)
	asked(t, l, stmt(nil, `ANALYZE orphan`))
	var expired int
	for range 6 {
		var done campaign.Swept
		if err := l.expire(t.Context(), time.Now(), most, &done); err != nil {
			t.Fatal(err)
		}
		var left int
		asked(t, l, row(&left, `SELECT count(*) FROM orphan`))
		if expired += done.Expired; left < most || left+expired != most+12_000 {
			t.Fatalf("%d are left, %d were dropped; want at least %+v, left+expired %+v", left, expired, most, most+12_000)
		}
	}
	var left, oldest int64
	asked(t, l, row(&left, `SELECT count(*) FROM orphan`), row(&oldest, `SELECT count(*) FROM orphan WHERE message_id = 'stranger.12000'`))
	if left != most || oldest != 0 {
		t.Errorf("%d are left, want %d; of the last to go %d", left, most, oldest)
	}
	if rest := l.countOrphansAt.Load(); rest == 0 {
		t.Errorf("counted again from %d on, want a rest after nothing was left to drop", rest)
	}
}

// BenchmarkSweepAmongUnknowns measures one sweep of a few orphans, none of them anybody's, among a million unknowns.
func BenchmarkSweepAmongUnknowns(b *testing.B) {
	run := func(b *testing.B, l campaign.Ledger) {
		var es []campaign.StatusEvent
		for i := range int64(10) {
			es = append(es, campaign.StatusEvent{MessageID: fmt.Sprint("wamid.stranger.", i), Status: campaign.Sent, At: time.Now(), Recipient: 2348030000000 + 1000*i})
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
	b.Run("postgres", func(b *testing.B) {
		l := openShared(b, Options{Sender: true})
		r := load(b, l, 1)
		asked(b, l, stmt(nil, `INSERT INTO outcome (rid, state, key, intent_at, result_at)
			SELECT ($1::bigint << 32) + i, 4, 2348030000000 + i, 1, 1 FROM generate_series(1, 1000000) i`, int64(r.No)), stmt(nil, `ANALYZE outcome`))
		run(b, l)
	})
	b.Run("sqlite", func(b *testing.B) {
		l := openTest(b, Options{Sender: true})
		r := load(b, l, 1)
		if err := l.submit(b.Context(), &op{run: func(t *tx) error {
			_, err := t.exec(`WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000000)
				INSERT INTO outcome (rid, state, key, intent_at, result_at) SELECT (? << 32) + i, 4, 2348030000000 + i, 1, 1 FROM s`, int64(r.No))
			return err
		}}); err != nil {
			b.Fatal(err)
		}
		run(b, l)
	})
}

func TestWhileAnotherSweepsNoOrphanIsDropped(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l, other := openAt(t, url, Options{}), besidePostgres(t, url)
	old := time.Now().Add(-2 * orphanAge)
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: "old", Status: campaign.Sent, At: old, ReceivedAt: old}}}); err != nil {
		t.Fatalf("applying: %v; want no error", err)
	}
	if _, err := other.Exec(t.Context(), `BEGIN; SELECT 1 FROM sweep FOR UPDATE`); err != nil {
		t.Fatalf("sweeping beside: %v; want no error", err)
	}
	for _, want := range []int{0, 1} {
		var done campaign.Swept
		if err := l.expire(t.Context(), time.Now(), orphanCap, &done); err != nil || done.Expired != want {
			t.Errorf("dropped %d orphans, %v; want %d", done.Expired, err, want)
		}
		if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatalf("ending the other sweep: %v; want no error", err)
		}
		if held := heldByPostgres(t, other); strings.Contains(held, "orphan (") != (want == 0) {
			t.Errorf("after %d were dropped the ledger holds\n%s\nwant the orphan only if none was", want, held)
		}
	}
}
