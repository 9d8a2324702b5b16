//go:build long

package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/google/go-cmp/cmp"
)

// A statement that fails while a ledger is opened leaves the ledger as it was, and the next opening
// does everything.
func TestSQLiteOpensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       ledger.Options
		before  string // a statement
		changes bool
	}{
		"Migrate":  {ledger.Options{}, "", true},
		"Sender":   {ledger.Options{Sender: true}, "", true},
		"Beside":   {ledger.Options{}, "", false},
		"ReadOnly": {ledger.Options{ReadOnly: true}, "", false},
		"Restored": {ledger.Options{Sender: true, AcceptRestored: true}, `UPDATE ledger SET opens = opens - 1`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			if name == "Migrate" {
				older(t, path)
			} else {
				l, err := Open(t.Context(), path, ledger.Options{Sender: true})
				if err != nil {
					t.Fatalf("opening: %v; want no error", err)
				}
				ledgertest.ClaimAll(t, l, ledgertest.Load(t, l, 3).No)
				if err := l.Close(); err != nil {
					t.Fatalf("closing: %v; want no error", err)
				}
			}
			db := beside(t, path)
			if _, err := db.ExecContext(t.Context(), c.before); err != nil {
				t.Fatalf("%s: %v; want no error", c.before, err)
			}
			before := tablesOf(t, db)
			d := newFaultyDriver(t)
			for n := 1; n < 200; n++ {
				d.fail(n)
				l, err := openWith(t.Context(), d.name, path, c.o)
				failed := d.failure()
				d.fail(0)
				if err == nil {
					if err := l.Close(); err != nil {
						t.Fatalf("closing: %v; want no error", err)
					}
				}
				if failed == "" {
					if err != nil || n == 1 {
						t.Errorf("opened after %d faults with %v; want some faults, and no error then", n-1, err)
					}
					break
				}
				if !errors.Is(err, errFault) {
					t.Errorf("%q failed: opened with %v; want its error", failed, err)
				}
				if name == "Migrate" {
					var whole bool
					if err := db.QueryRowContext(t.Context(), `SELECT (
							SELECT count(*) FROM sqlite_master WHERE name IN ('first_receipt', 'first_receipt_at'))
						= 2 * (SELECT count(*) FROM goose_db_version WHERE version_id = 32)`).Scan(&whole); err != nil || !whole {
						t.Fatalf("%q failed, and the migration is whole or absent: %v, %v; want true", failed, whole, err)
					}
				} else if d := cmp.Diff(before, tablesOf(t, db)); d != "" {
					t.Fatalf("%q failed, and the ledger changed (-before +after):\n%s", failed, d)
				}
			}
			if changed := tablesOf(t, db) != before; changed != c.changes {
				t.Errorf("opening changed the ledger: %v; want %v", changed, c.changes)
			}
		})
	}
}
