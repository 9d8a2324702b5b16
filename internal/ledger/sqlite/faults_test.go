package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"

	"github.com/google/go-cmp/cmp"
)

// beside opens the file of a ledger on a connection of its own.
func beside(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dbfile.DSN(path))
	if err != nil {
		t.Fatalf("opening %s: %v; want no error", path, err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// tablesOf is every row of every table, as text.
func tablesOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	var tables, all []string
	rowsOf := func(query string, add func(*sql.Rows) error) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err == nil {
			for err == nil && rows.Next() {
				err = add(rows)
			}
			err = errors.Join(err, rows.Err(), rows.Close())
		}
		if err != nil {
			t.Fatalf("%s: %v; want no error", query, err)
		}
	}
	rowsOf(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		tables = append(tables, name)
		return err
	})
	for _, name := range tables {
		rowsOf(`SELECT * FROM `+name, func(rows *sql.Rows) error {
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			err = rows.Scan(into...)
			all = append(all, fmt.Sprint(name, " ", values))
			return err
		})
	}
	return strings.Join(all, "\n")
}

func TestSQLiteTakesNoFailedStatementForSuccess(t *testing.T) {
	t.Parallel()
	ledgertest.RunFaults(t, func(t *testing.T) (campaign.Ledger, ledgertest.Faults) {
		d := newFaultyDriver(t)
		l := openThrough(t, d.name, ledger.Options{})
		db := beside(t, l.Path())
		return l, ledgertest.Faults{
			Fail: d.fail, Failed: d.failure,
			Is:   func(err error) bool { return errors.Is(err, errFault) },
			Rows: func(t *testing.T) string { return tablesOf(t, db) },
			Exec: func(t *testing.T, query string) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Fatalf("%s: %v; want no error", query, err)
				}
			},
		}
	})
}

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
