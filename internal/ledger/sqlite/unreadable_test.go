//go:build long

package sqlite

import (
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// A row whose numbers cannot be read ends its call with an error. It is taken neither for the end
// of the rows nor for a row of zeros.
func TestSQLiteTakesNoUnreadableRowForRead(t *testing.T) {
	t.Parallel()
	unread := 0
	ledgertest.RunFaults(t, func(t *testing.T) (campaign.Ledger, ledgertest.Faults) {
		d := newFaultyDriver(t)
		d.unreadable = true
		l := openThrough(t, d.name, ledger.Options{})
		db := beside(t, l.Path())
		return l, ledgertest.Faults{
			Fail: d.fail, Failed: d.failure,
			Is: func(err error) bool {
				unread++
				return err != nil && strings.Contains(err.Error(), `"unreadable"`)
			},
			Some: true,
			Rows: func(t *testing.T) string { return tablesOf(t, db) },
			Exec: func(t *testing.T, query string) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Fatalf("%s: %v; want no error", query, err)
				}
			},
		}
	})
	if least := 100; unread < least {
		t.Errorf("%d rows could not be read; want %d and more", unread, least)
	}
}
