//go:build long && unix

package postgres

import (
	"testing"

	"campaignd/internal/ledger"

	"github.com/google/go-cmp/cmp"
)

// A statement that fails while a ledger is opened leaves the ledger unchanged, and the next opening
// does all of the work.
func TestPostgresOpensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       ledger.Options
		before  string // a statement
		changes bool
	}{
		"Migrate":  {ledger.Options{Sender: true}, ``, true},
		"Identify": {ledger.Options{Sender: true}, `DELETE FROM ledger`, true},
		"ReadOnly": {ledger.Options{ReadOnly: true}, ``, false},
		"Restored": {ledger.Options{Sender: true, AcceptRestored: true}, `UPDATE ledger SET system = system - 1`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := newFaultyWire(t)
			schema := migrated
			if name == "Migrate" {
				schema = older
			}
			url := schema(t)
			beside := beside(t, url)
			if _, err := beside.Exec(t.Context(), c.before); err != nil {
				t.Fatalf("%s: %v; want no error", c.before, err)
			}
			before := tablesOf(t, beside)
			for n := 1; n < 200; n++ {
				wire.fail(n)
				l, err := Open(t.Context(), wire.through(url), c.o)
				failed := wire.said()
				wire.fail(0)
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
				if !isFault(err) {
					t.Errorf("%q failed: opened with %v; want its error", failed, err)
				}
				if name == "Migrate" {
					var whole bool
					if err := beside.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_class WHERE relname IN ('first_receipt', 'first_receipt_at'))
						= 2 * (SELECT count(*) FROM goose_db_version WHERE version_id = 32)`).Scan(&whole); err != nil || !whole {
						t.Fatalf("%q failed, and the migration is whole or absent: %v, %v; want true", failed, whole, err)
					}
				} else if d := cmp.Diff(before, tablesOf(t, beside)); d != "" {
					t.Fatalf("%q failed, and the ledger changed, want it unchanged (-before +after):\n%s", failed, d)
				}
			}
			if changed := tablesOf(t, beside) != before; changed != c.changes {
				t.Errorf("opening changed the ledger: %v; want %v", changed, c.changes)
			}
		})
	}
}
