// Package sqlitetest makes ledgers in SQLite files for tests that are about neither the migrations
// nor the disk.
//
// Tests of the packages above the ledger call it. The migrations run once in a process, because
// they take more processor time than most tests. Each new ledger is a copy of their file, and has
// an identity of its own.
package sqlitetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
)

// Open opens a new ledger, and closes it when the test ends.
func Open(t testing.TB, o ledger.Options) *sqlite.Ledger {
	t.Helper()
	path := filepath.Join(ledgertest.Folder(t), "campaignd.db")
	New(t, path)
	l, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("opening a new ledger: %v; want no error", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("closing the ledger: %v; want no error", err)
		}
	})
	return l
}

// New writes the file of a ledger that nobody has opened.
func New(t testing.TB, path string) {
	t.Helper()
	file, err := migrated()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatalf("making the file of a ledger: %v; want no error", err)
	}
}

// migrated returns the file of a ledger that has a schema and no identity: the first opening gives
// it one.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "campaignd-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "migrated.db")
	l, err := sqlite.Open(context.Background(), path, ledger.Options{})
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(context.Background(), "DELETE FROM ledger")
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
