package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/google/go-cmp/cmp"
)

// errFault is what a statement that faultyDriver lets fail returns.
var errFault = errors.New("the statement fails")

// faultyDriver is SQLite's driver whose n-th statement fails: what prepares, begins, runs, answers
// its first row, or commits.
type faultyDriver struct {
	driver.Driver
	name string

	mu     sync.Mutex
	left   int // statements until the one that fails; 0: none does
	failed string
	seen   []string // what failed to be prepared already

	unreadable bool // instead, the n-th row that has numbers has texts in their place
}

var faultyDrivers atomic.Int64

// newFaultyDriver registers a driver of the test's own.
func newFaultyDriver(t *testing.T) *faultyDriver {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatalf("SQLite's driver: %v; want no error", err)
	}
	defer db.Close()
	d := &faultyDriver{Driver: db.Driver(), name: fmt.Sprint("sqlite with faults ", faultyDrivers.Add(1))}
	sql.Register(d.name, d)
	return d
}

// fail lets the n-th statement from now on fail, and no other; 0 none.
func (d *faultyDriver) fail(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.failed = n, ""
}

// said is the statement that failed, "" when none did.
func (d *faultyDriver) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// ignored begin the statements that never fail: the checkpointer's, which come by the clock, what
// is a hint only, and what goose asks to see whether its table is there.
var ignored = []string{"PRAGMA wal_checkpoint", "ROLLBACK", "SELECT lease_until FROM job", "SELECT tstamp"}

// step counts a statement.
func (d *faultyDriver) step(kind, query string) error {
	if d.unreadable && kind != "a row of" || slices.ContainsFunc(ignored, func(s string) bool { return strings.HasPrefix(query, s) }) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return nil
	}
	if what := kind + " " + query; kind == "prepare" { // kept once it succeeded: each fails at its first time, and is not counted
		if slices.Contains(d.seen, what) {
			return nil
		}
		d.seen, d.left, d.failed = append(d.seen, what), 0, what
		return errFault
	}
	if d.left--; d.left > 0 {
		return nil
	}
	d.failed = kind + " " + query
	return errFault
}

func (d *faultyDriver) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultyConn{c, d}, nil
}

type faultyConn struct {
	driver.Conn
	d *faultyDriver
}

func (c *faultyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.d.step("prepare", query); err != nil {
		return nil, err
	}
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &faultyStmt{s, c.d, query}, nil
}

func (c *faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.d.step("begin", ""); err != nil {
		return nil, err
	}
	t, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return &faultyTx{t, c.d}, nil
}

func (c *faultyConn) ExecContext(ctx context.Context, query string, a []driver.NamedValue) (driver.Result, error) {
	if err := c.d.step("exec", query); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, a)
}

func (c *faultyConn) QueryContext(ctx context.Context, query string, a []driver.NamedValue) (driver.Rows, error) {
	if err := c.d.step("query", query); err != nil {
		return nil, err
	}
	return c.d.rows(query)(c.Conn.(driver.QueryerContext).QueryContext(ctx, query, a))
}

func (c *faultyConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

type faultyTx struct {
	driver.Tx
	d *faultyDriver
}

// Commit fails before it commits. The transaction is over either way, as database/sql requires.
func (t *faultyTx) Commit() error {
	if err := t.d.step("commit", ""); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Tx.Commit()
}

type faultyStmt struct {
	driver.Stmt
	d     *faultyDriver
	query string
}

func (s *faultyStmt) ExecContext(ctx context.Context, a []driver.NamedValue) (driver.Result, error) {
	if err := s.d.step("exec", s.query); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, a)
}

func (s *faultyStmt) QueryContext(ctx context.Context, a []driver.NamedValue) (driver.Rows, error) {
	if err := s.d.step("query", s.query); err != nil {
		return nil, err
	}
	return s.d.rows(s.query)(s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, a))
}

func (d *faultyDriver) rows(query string) func(driver.Rows, error) (driver.Rows, error) {
	return func(r driver.Rows, err error) (driver.Rows, error) {
		if err != nil {
			return nil, err
		}
		return &faultyRows{Rows: r, d: d, query: query}, nil
	}
}

type faultyRows struct {
	driver.Rows
	d     *faultyDriver
	query string
	begun bool
}

func (r *faultyRows) Next(into []driver.Value) error {
	if !r.begun {
		if r.begun = true; !r.d.unreadable && r.d.step("rows of", r.query) != nil {
			return errFault
		}
	}
	err := r.Rows.Next(into)
	if err != nil || !r.d.unreadable {
		return err
	}
	isNumber := func(v driver.Value) bool { _, ok := v.(int64); return ok }
	if slices.ContainsFunc(into, isNumber) && r.d.step("a row of", r.query) != nil {
		for i := range into {
			if isNumber(into[i]) {
				into[i] = "unreadable"
			}
		}
	}
	return nil
}

// beside opens an SQLite file beside its ledger.
func beside(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
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
			Fail: d.fail, Failed: d.said,
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

// A row whose numbers cannot be read ends its call with an error: it is not taken for the last one,
// nor for one of zeros.
func TestSQLiteTakesNoUnreadableRowForRead(t *testing.T) {
	t.Parallel()
	unread := 0
	ledgertest.RunFaults(t, func(t *testing.T) (campaign.Ledger, ledgertest.Faults) {
		d := newFaultyDriver(t)
		d.unreadable = true
		l := openThrough(t, d.name, ledger.Options{})
		db := beside(t, l.Path())
		return l, ledgertest.Faults{
			Fail: d.fail, Failed: d.said,
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

// A statement that fails while a ledger is opened leaves it as it was, and the next opening does it
// all.
func TestSQLiteOpensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       ledger.Options
		before  string // a statement
		changes bool
	}{
		"Migrate":  {ledger.Options{}, `DROP TABLE job; DROP INDEX run_firing; DELETE FROM goose_db_version WHERE version_id = 2`, true},
		"Sender":   {ledger.Options{Sender: true}, "", true},
		"Beside":   {ledger.Options{}, "", false},
		"ReadOnly": {ledger.Options{ReadOnly: true}, "", false},
		"Restored": {ledger.Options{Sender: true, AcceptRestored: true}, `UPDATE ledger SET opens = opens - 1`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "test.db")
			l, err := Open(t.Context(), path, ledger.Options{Sender: true})
			if err != nil {
				t.Fatalf("opening: %v; want no error", err)
			}
			ledgertest.ClaimAll(t, l, ledgertest.Load(t, l, 3).No)
			if err := l.Close(); err != nil {
				t.Fatalf("closing: %v; want no error", err)
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
				failed := d.said()
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
					if err := db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM sqlite_master WHERE name IN ('job', 'run_firing'))
						= 2 * (SELECT count(*) FROM goose_db_version WHERE version_id = 2)`).Scan(&whole); err != nil || !whole {
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
