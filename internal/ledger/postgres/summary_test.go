package postgres

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/jackc/pgx/v5"
)

const sqlKept = `SELECT count(*) FROM summary WHERE token = 0 AND (SELECT trusted FROM summary_state)
	AND NOT EXISTS (SELECT 1 FROM changed)`

func keptSummaries(t *testing.T, l *Ledger) (n int64) {
	t.Helper()
	if err := l.read(t.Context(), l.reports, row(&n, sqlKept)); err != nil {
		t.Fatal(err)
	}
	return n
}

// A program that does not add to the table changed, such as an older one beside a rolling upgrade,
// may change any row.
func TestAnOlderProgramMakesReportsReadRows(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	no := ledgertest.Load(t, l, 100).No
	if n, err := l.FoldSummaries(t.Context(), -time.Hour, 100); err != nil || n != 1 || keptSummaries(t, l) != 1 {
		t.Fatalf("kept %d summaries, %v; want 1, no error", n, err)
	}
	older, err := pgx.ConnectConfig(t.Context(), l.reports.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close(t.Context())
	if _, err := older.Exec(t.Context(), `INSERT INTO outcome (rid, state, code) VALUES ($1, 7 /* skipped */, 'expired')`,
		ledger.RowID(no, 99)); err != nil {
		t.Fatal(err)
	}
	if n := keptSummaries(t, l); n != 0 {
		t.Errorf("%d summaries are trusted; want 0", n)
	}
	if _, wrong, err := ledgertest.Differs(t.Context(), l, no); wrong != "" || err != nil {
		t.Errorf("%v %s; want that the summary counts the row", err, wrong)
	}
	if n, err := l.FoldSummaries(t.Context(), -time.Hour, 100); err != nil || n != 1 || keptSummaries(t, l) != 1 {
		t.Errorf("kept %d summaries, %v; want 1, no error", n, err)
	}
	if _, wrong, err := ledgertest.Differs(t.Context(), l, no); wrong != "" || err != nil {
		t.Errorf("%v %s; want that the summary counts the row", err, wrong)
	}
}

// The time of a run's last status is written at most each 100 ms, the segments of all statuses are.
func TestStatusesTellThatASummaryIsOld(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := sentAll(t, l, 2*campaign.SegmentSize)
	touched := stmt(nil, `UPDATE run_event SET event_at = $1`, ledger.Millis(time.Now().Add(time.Hour)))
	if err := l.read(t.Context(), l.sender, touched); err != nil {
		t.Fatal(err)
	}
	for _, seqs := range [][]int64{{0}, {campaign.SegmentSize}, {1, campaign.SegmentSize + 1}} {
		if n, err := l.FoldSummaries(t.Context(), -time.Hour, 100); err != nil || n == 0 || keptSummaries(t, l) != 2 {
			t.Fatalf("kept %d summaries, %v; want some and no error, and 2 trusted", n, err)
		}
		var told campaign.Events
		for _, seq := range seqs {
			told.Statuses = append(told.Statuses,
				campaign.StatusEvent{MessageID: ledgertest.MessageID(r.No, seq), Status: campaign.Delivered, At: time.Now()})
		}
		if done, err := l.Apply(t.Context(), told); err != nil || done.Matched != len(seqs) {
			t.Fatalf("got %+v, %v; want no error, Matched %d", done, err, len(seqs))
		}
		if _, wrong, err := ledgertest.Differs(t.Context(), l, r.No); wrong != "" || err != nil {
			t.Errorf("after statuses of %v: %v %s; want that the report counts them", seqs, err, wrong)
		}
		var changed int64
		if err := l.read(t.Context(), l.reports, row(&changed, `SELECT count(*) FROM changed`)); err != nil || changed != int64(len(seqs)) {
			t.Errorf("after statuses of %v: %d segments changed, %v; want %d", seqs, changed, err, len(seqs))
		}
	}
}

// A transaction that saw its segment among those that changed adds it no more. The count must wait
// for it.
func TestACountWaitsForRunningTransactions(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	ledgertest.Load(t, l, 10)
	running, err := pgx.ConnectConfig(t.Context(), l.reports.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close(t.Context())
	if _, err := running.Exec(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.FoldSummaries(t.Context(), -time.Hour, 100)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it counted while a transaction ran, %v; want that it waits", err)
	case <-time.After(300 * time.Millisecond):
	}
	if _, err := running.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || keptSummaries(t, l) != 1 {
		t.Errorf("%v, %d kept; want no error, 1 kept", err, keptSummaries(t, l))
	}
}
