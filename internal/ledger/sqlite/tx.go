package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"campaignd/internal/ledger"
)

// tx is the writer's transaction. It prepares each statement once and keeps it. No method takes a
// context, because a statement that is interrupted half-way would undo the whole group.
type tx struct {
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	options ledger.Options // as it was opened
	changed bool           // exec changed a row in this transaction
	stale   map[int64]bool // segments whose outcomes it changed
	exists  map[string]bool
}

// prepare returns the prepared statement; the texts are constants, so that few are kept.
func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if s := t.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("%w in %q", err, query)
	}
	t.stmts[query] = s
	return s, nil
}

// scanFunc reads the columns of one row, as sql.Rows.Scan does.
type scanFunc = func(into ...any) error

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, a ...any) (int64, error) {
	s, err := t.prepare(query)
	if err != nil {
		return 0, err
	}
	r, err := s.Exec(a...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	t.changed = t.changed || n > 0
	return n, err
}

// args separates the arguments of row and each from their targets.
func args(a ...any) []any { return a }

// row reads the one row of a query; sql.ErrNoRows when there is none.
func (t *tx) row(query string, a []any, into ...any) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	return s.QueryRow(a...).Scan(into...)
}

// any reports whether the query of an EXISTS finds something. It asks once in a transaction: a row
// that another operation of the transaction inserts may count or not, because its caller has no
// answer before the commit.
func (t *tx) any(query string) (some bool, err error) {
	some, asked := t.exists[query]
	if !asked {
		if err = t.row(query, nil, &some); err == nil {
			t.exists[query] = some
		}
	}
	return some, err
}

// each calls f for every row of a query. f must not write: the rows are still open.
func (t *tx) each(query string, a []any, f func(scan scanFunc) error) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(a...)
	if err != nil {
		return err
	}
	return drain(rows, f)
}

// list is an f of each that adds the rows to *into, as read returns them.
func list[T any](into *[]T, read func(scan scanFunc) (T, error)) func(scan scanFunc) error {
	return func(scan scanFunc) error {
		v, err := read(scan)
		*into = append(*into, v)
		return err
	}
}

// scanID reads a row of one number.
func scanID(scan scanFunc) (id int64, err error) {
	err = scan(&id)
	return id, err
}

// drain calls f for every row and closes rows.
func drain(rows *sql.Rows, f func(scan scanFunc) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

const sqlChanged = `INSERT INTO changed (segment, at) VALUES (?, ?) ON CONFLICT (segment) DO NOTHING`

// recount notes that the transaction changes outcomes of the segment of a row id. Each statement
// that changes what a summary counts needs it.
func (t *tx) recount(rid int64) { t.stale[ledger.SegmentOf(rid)] = true }

// tellChanged writes the segments of recount, so that nobody trusts their summaries.
func (t *tx) tellChanged() error {
	for segment := range t.stale {
		if _, err := t.exec(sqlChanged, segment, ledger.Millis(time.Now())); err != nil {
			return err
		}
	}
	return nil
}

// rollback ends the transaction. Its error says that SQLite has ended it already, and is ignored.
func (t *tx) rollback() { _, _ = t.exec(sqlRollback) }

func (t *tx) close() error {
	var errs []error
	for _, s := range t.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}
