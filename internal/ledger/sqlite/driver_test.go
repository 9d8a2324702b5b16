package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// errFault is the error of a statement that faultyDriver lets fail.
var errFault = errors.New("the statement fails")

// faultyDriver is SQLite's driver with a fault in its n-th step. Each of these is a step: to
// prepare a statement, to begin a transaction, to run a statement, to read its first row, to
// commit.
type faultyDriver struct {
	driver.Driver
	name string

	mu     sync.Mutex
	left   int      // steps until the one that fails; 0: none does
	failed string   // the step that failed
	seen   []string // statements that failed to be prepared

	unreadable bool // instead, the n-th row with numbers has texts in their place
}

var faultyDrivers atomic.Int64

// newFaultyDriver registers a driver for one test.
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

// fail lets the n-th step from now on fail and no other; with 0 none fails.
func (d *faultyDriver) fail(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.failed = n, ""
}

// failure is the step that failed, "" when none did.
func (d *faultyDriver) failure() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// ignored are the beginnings of statements that never fail: checkpoints, which come by the clock,
// statements whose errors have no effect, and goose's question whether its table exists.
var ignored = []string{"PRAGMA wal_checkpoint", "ROLLBACK", "SELECT lease_until FROM job", "SELECT tstamp"}

// step counts a step, and returns errFault if it is the one that fails. A statement is prepared
// once and kept, so each fails to be prepared when it first could, and that step is not counted.
func (d *faultyDriver) step(kind, query string) error {
	begins := func(s string) bool { return strings.HasPrefix(query, s) }
	if d.unreadable && kind != "a row of" || slices.ContainsFunc(ignored, begins) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return nil
	}
	if what := kind + " " + query; kind == "prepare" {
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
