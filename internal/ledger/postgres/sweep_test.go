//go:build unix

package postgres

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// asked sends statements of the test over the pool that has not the hot settings.
func asked(t testing.TB, l *Ledger, qs ...*query) {
	t.Helper()
	if err := l.read(t.Context(), l.reports, qs...); err != nil {
		t.Fatal(err)
	}
}

// foreignOrphans inserts n orphans of other programs' recipients, received one millisecond after
// the other.
func foreignOrphans(t testing.TB, l *Ledger, n int64) {
	t.Helper()
	asked(t, l, stmt(nil, `INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
		SELECT hashint8extended(i, 7), 'foreign.' || i, 1 /* sent */, $2::bigint + i, $2::bigint + i, 5000000000000 + i, 'conn_1', ''
		FROM generate_series(1, $1::bigint) i`, n, ledger.Millis(time.Now())-n))
}

// The server's statistics are as old as the last autovacuum, so the oldest orphan that is kept is
// searched for before any is deleted.
func TestOnlyTheOrphansBeyondTheirNumberAreDropped(t *testing.T) {
	const most = 20_000
	l := openShared(t, ledger.Options{Sender: true})
	foreignOrphans(t, l, most+12_000)
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
			t.Fatalf("%d are left, %d were deleted; want at least %+v, left+expired %+v", left, expired, most, most+12_000)
		}
	}
	var left, oldest int64
	asked(t, l, row(&left, `SELECT count(*) FROM orphan`), row(&oldest, `SELECT count(*) FROM orphan WHERE message_id = 'foreign.12000'`))
	if left != most || oldest != 0 {
		t.Errorf("%d orphans are left, %d of them should have been deleted last; want %d and 0", left, oldest, most)
	}
	if rest := l.searchExcessAt.Load(); rest == 0 {
		t.Errorf("the next search may come at %d, want it later than now", rest)
	}
}

// BenchmarkSweepAmongUnknowns measures a sweep of a few unmatched orphans among a million unknown
// outcomes.
func BenchmarkSweepAmongUnknowns(b *testing.B) {
	l := openShared(b, ledger.Options{Sender: true})
	r := ledgertest.Load(b, l, 1)
	asked(b, l, stmt(nil, `INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
		SELECT ($1::bigint << 32) + i, 1, 2348030000000 + i, 'conn_1', 1, 1 FROM generate_series(1, 1000000) i`, int64(r.No)),
		stmt(nil, `ANALYZE attempt`))
	ledgertest.SweepStrangers(b, l)
}

// Webhooks would wait for a transaction that adopted everything at once.
func TestATransactionAdoptsAtMostAStep(t *testing.T) {
	l := openShared(t, ledger.Options{Sender: true})
	ledgertest.Provable(t, l, 2*ledger.AdoptPage+100)
	ledgertest.SweepAll(t, l, 30)
	var most int64
	asked(t, l, row(&most, `SELECT max(n) FROM (SELECT count(*) AS n FROM outcome GROUP BY xmin::text) x`))
	if most > ledger.AdoptPage {
		t.Errorf("one transaction adopted %d, want at most %d", most, ledger.AdoptPage)
	}
}

func TestWhileAnotherSweepsNoOrphanIsDropped(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l, other := openAt(t, url, ledger.Options{}), beside(t, url)
	old := time.Now().Add(-2 * ledger.OrphanAge)
	event := campaign.StatusEvent{MessageID: "old", Status: campaign.Sent, At: old, ReceivedAt: old}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{event}}); err != nil {
		t.Fatalf("applying: %v; want no error", err)
	}
	if _, err := other.Exec(t.Context(), `BEGIN; SELECT 1 FROM sweep FOR UPDATE`); err != nil {
		t.Fatalf("sweeping beside: %v; want no error", err)
	}
	for _, want := range []int{0, 1} {
		var done campaign.Swept
		if err := l.expire(t.Context(), time.Now(), ledger.OrphanCap, &done); err != nil || done.Expired != want {
			t.Errorf("deleted %d orphans, %v; want %d", done.Expired, err, want)
		}
		if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatalf("ending the other sweep: %v; want no error", err)
		}
		if rows := tablesOf(t, other); strings.Contains(rows, "orphan (") != (want == 0) {
			t.Errorf("after %d deletions the ledger has\n%s\nwant the orphan only before its deletion", want, rows)
		}
	}
}

func TestWhileAnotherSweepsNothingIsAdopted(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	l, other := openAt(t, url, ledger.Options{Sender: true}), beside(t, url)
	r := ledgertest.Provable(t, l, 3)
	if _, err := other.Exec(t.Context(), `BEGIN; SELECT 1 FROM sweep FOR UPDATE`); err != nil {
		t.Fatalf("sweeping beside: %v; want no error", err)
	}
	for _, want := range []int{0, 3} {
		var done campaign.Swept
		mine, err := l.adoptAll(t.Context(), &done)
		if err != nil || mine != (want > 0) || done.Adopted != want {
			t.Errorf("adopted %d, mine %v, %v; want %d, %v and no error", done.Adopted, mine, err, want, want > 0)
		}
		if got := ledgertest.Totals(t, l, r.No)[campaign.Delivered]; got != int64(want) {
			t.Errorf("delivered: %d; want %d", got, want)
		}
		if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatalf("ending the other sweep: %v; want no error", err)
		}
	}
}
