package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"
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
