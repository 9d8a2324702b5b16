package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// An older program that opened the ledger as a sender may have changed any row, and told of none.
func TestAnOlderProgramHasAllSegmentsCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	// changed opens the ledger, calls f and returns how many segments had changed before.
	changed := func(f func(*Ledger)) (n int) {
		t.Helper()
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.read().row(t.Context(), `SELECT count(*) FROM changed`, nil, &n); err != nil {
			t.Fatal(err)
		}
		f(l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	fold := func(l *Ledger) {
		t.Helper()
		if n, err := l.FoldSummaries(t.Context(), -time.Hour, 100); err != nil || n != 1 {
			t.Fatalf("kept %d summaries, %v; want 1, no error", n, err)
		}
	}
	changed(func(l *Ledger) {
		ledgertest.Load(t, l, 10)
		fold(l)
	})
	if n := changed(func(*Ledger) {}); n != 0 {
		t.Errorf("%d segments have changed after this program had it; want 0", n)
	}
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.ExecContext(t.Context(), `UPDATE ledger SET counted = counted - 1 /* as an older program leaves it */`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if n := changed(fold); n != 1 {
		t.Errorf("%d segments have changed after an older program had it; want 1", n)
	}
}
