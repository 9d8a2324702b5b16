package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"campaignd/internal/ledger/postgres/connect"
)

// query is a statement and the use of its answer.
type query struct {
	sql  string
	args []any
	n    *int64               // receives how many rows it changed
	tag  func(string)         // receives the server's command tag
	anew func()               // forgets the rows of an earlier try
	scan func(scanFunc) error // called for each row
	one  bool                 // no row is pgx.ErrNoRows
	seen bool                 // scan was called
}

// scanFunc reads the columns of one row, as pgx.Rows.Scan does.
type scanFunc = func(into ...any) error

// unrepeatable reports whether the query must not run again: it has called scan, which cannot
// forget the rows.
func (q *query) unrepeatable() bool { return q.seen && !q.one && q.anew == nil }

// stmt is a statement whose changed rows n counts; n may be nil.
func stmt(n *int64, sql string, args ...any) *query { return &query{sql: sql, args: args, n: n} }

// row is a query of one row of one column.
func row(into any, sql string, args ...any) *query {
	return &query{sql: sql, args: args, one: true, scan: func(scan scanFunc) error { return scan(into) }}
}

// rowOf is a query of one row.
func rowOf(into []any, sql string, args ...any) *query {
	return &query{sql: sql, args: args, one: true, scan: func(scan scanFunc) error { return scan(into...) }}
}

// list is a query that sets *into to its rows, as read returns them. It may run again.
func list[T any](into *[]T, read func(scan scanFunc) (T, error), sql string, args ...any) *query {
	return &query{sql: sql, args: args, anew: func() { *into = nil }, scan: func(scan scanFunc) error {
		v, err := read(scan)
		*into = append(*into, v)
		return err
	}}
}

// scanID reads a row of one number.
func scanID(scan scanFunc) (id int64, err error) {
	err = scan(&id)
	return id, err
}

// each is a query that calls f for every row. Outside a transaction it does not run again once f
// was called, because f may have stored the row. A list does.
//
// Where a statement joins by a range or a computed key, LATERAL with OFFSET 0 leaves the planner no
// choice. Otherwise it could read all of a large table, because its statistics are of a time when
// the table was small.
func each(f func(scan scanFunc) error, sql string, args ...any) *query {
	return &query{sql: sql, args: args, scan: f}
}

// send runs queries in one round trip, in their order.
func send(ctx context.Context, c *connect.Conn, qs ...*query) (err error) {
	b := &pgx.Batch{}
	for _, q := range qs {
		if q.anew != nil {
			q.anew()
		}
		b.Queue(q.sql, q.args...)
	}
	answers := c.SendBatch(ctx, b)
	defer func() {
		if e := answers.Close(); err == nil { // otherwise it is the same error again
			err = e
		}
	}()
	for _, q := range qs {
		if err := q.take(c, answers); err != nil {
			return err
		}
	}
	return nil
}

func (q *query) take(c *connect.Conn, answers pgx.BatchResults) error {
	if q.scan == nil {
		tag, err := answers.Exec()
		c.Changed = c.Changed || changes(tag)
		if q.n != nil {
			*q.n = tag.RowsAffected()
		}
		if q.tag != nil {
			q.tag(tag.String())
		}
		return err
	}
	rows, err := answers.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	q.seen = false
	for rows.Next() {
		q.seen = true
		if err := q.scan(rows.Scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	c.Changed = c.Changed || changes(rows.CommandTag())
	if q.one && !q.seen {
		return pgx.ErrNoRows
	}
	return nil
}

// changes reports whether a statement has changed rows. It reports false for a SELECT whose WITH
// changed rows.
func changes(tag pgconn.CommandTag) bool {
	return tag.RowsAffected() > 0 && (tag.Insert() || tag.Update() || tag.Delete())
}
