package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// tx is the writer's transaction. Statements are prepared once and kept. Nothing here
// takes a context: a statement that is interrupted half-way would cost the whole group.
type tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

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
	return r.RowsAffected()
}

// args makes the arguments of row and each stand apart from their targets.
func args(a ...any) []any { return a }

// row reads the one row of a query; sql.ErrNoRows when there is none.
func (t *tx) row(query string, a []any, into ...any) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	return s.QueryRow(a...).Scan(into...)
}

// each calls f for every row of a query. The rows are open meanwhile: f must not write.
func (t *tx) each(query string, a []any, f func(scan func(...any) error) error) error {
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

// drain calls f for every row and closes rows.
func drain(rows *sql.Rows, f func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rollback ends the transaction; it fails when SQLite has ended it already.
func (t *tx) rollback() { _, _ = t.exec("ROLLBACK") }

func (t *tx) close() error {
	var errs []error
	for _, s := range t.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}
