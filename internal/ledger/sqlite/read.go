package sqlite

import (
	"context"
	"database/sql"

	"campaignd/internal/ledger"
)

// reader is the pool of reading connections, or one read transaction, with prepared statements.
type reader struct {
	ledger *Ledger
	tx     *sql.Tx              // nil: each query sees the newest commit
	stmts  map[string]*sql.Stmt // of tx, which closes them
}

// read returns a reader without a transaction.
func (l *Ledger) read() reader { return reader{ledger: l} }

// snapshot runs f in one read transaction: all its queries see the same commit. f must be short,
// because the write-ahead log grows while the transaction lasts. It has ended when snapshot
// returns, also when ctx ends first: ctx ends the queries, and database/sql would end the
// transaction of a context in a goroutine of its own, which can outlive Close.
func (l *Ledger) snapshot(ctx context.Context, f func(reader) error) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	conn, err := l.reads.Conn(ctx)
	if err != nil {
		return explain(l.path, err)
	}
	defer conn.Close()
	t, err := conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(l.path, err)
	}
	defer t.Rollback() //nolint:errcheck // nothing was written
	return f(reader{l, t, map[string]*sql.Stmt{}})
}

// prepare returns the prepared statement of the transaction, or of the pool, which keeps it.
func (r reader) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if r.ledger.closed.Load() {
		return nil, ledger.ErrClosed
	}
	if r.tx != nil { // on its own connection: waiting for another of the pool could be a deadlock
		s, err := r.stmts[query], error(nil)
		if s == nil {
			if s, err = r.tx.PrepareContext(ctx, query); err == nil {
				r.stmts[query] = s
			}
		}
		return s, err
	}
	p, ok := r.ledger.prepared.Load(query)
	if !ok {
		s, err := r.ledger.reads.PrepareContext(context.WithoutCancel(ctx), query) // it outlives this call
		if err != nil {
			return nil, err
		}
		var raced bool
		if p, raced = r.ledger.prepared.LoadOrStore(query, s); raced {
			_ = s.Close()
		}
	}
	return p.(*sql.Stmt), nil
}

// row reads one row; sql.ErrNoRows when there is none.
func (r reader) row(ctx context.Context, query string, a []any, into ...any) error {
	s, err := r.prepare(ctx, query)
	if err != nil {
		return explain(r.ledger.path, err)
	}
	if err := s.QueryRowContext(ctx, a...).Scan(into...); err != sql.ErrNoRows { //nolint:errorlint // Scan returns it bare
		return explain(r.ledger.path, err)
	}
	return sql.ErrNoRows
}

// each calls f for every row of a query.
func (r reader) each(ctx context.Context, query string, a []any, f func(scan scanFunc) error) error {
	s, err := r.prepare(ctx, query)
	if err != nil {
		return explain(r.ledger.path, err)
	}
	rows, err := s.QueryContext(ctx, a...)
	if err != nil {
		return explain(r.ledger.path, err)
	}
	return explain(r.ledger.path, drain(rows, f))
}
