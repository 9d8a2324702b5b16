package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Bounds of one call: the statement's own limits (see session) end it on the server, callTime here when the server does
// not answer any more. Otherwise a host that dies without a word holds the caller, and a connection of the pool, until
// TCP gives up after a quarter of an hour.
const (
	callTime = 10 * time.Second  // on the hot pools, and of every change
	slowTime = 310 * time.Second // of a question to the reports' pool: its statement_timeout and time for the answer
	tries    = 5                 // of a transaction that another one, or the server's end, broke
)

// errSilent ends what the server did not answer in time. The time was not the caller's, so it is no DeadlineExceeded.
var errSilent = errors.New("the server did not answer")

// errAmongRows marks the error of a query that must not be asked again: it has handed out rows.
var errAmongRows = errors.New("it broke off among its rows")

// query is a statement and what becomes of its answer.
type query struct {
	sql  string
	args []any
	n    *int64                              // takes how many rows it changed
	tag  func(string)                        // takes the server's word for what it did
	anew func()                              // forgets the rows of an earlier try
	scan func(scan func(...any) error) error // called for each row
	one  bool                                // scan must have been called: pgx.ErrNoRows otherwise
	seen bool
}

// spent reports whether a query has handed out rows that it cannot take back.
func (q *query) spent() bool { return q.seen && !q.one && q.anew == nil }

// stmt is a statement whose changed rows n counts; n may be nil.
func stmt(n *int64, sql string, args ...any) *query { return &query{sql: sql, args: args, n: n} }

// row is a query of one row of one column.
func row(into any, sql string, args ...any) *query {
	return &query{sql: sql, args: args, one: true, scan: func(scan func(...any) error) error { return scan(into) }}
}

// rowOf is a query of one row.
func rowOf(into []any, sql string, args ...any) *query {
	return &query{sql: sql, args: args, one: true, scan: func(scan func(...any) error) error { return scan(into...) }}
}

// list is a query whose rows, as read makes them, become *into and nothing else does: it may be asked again.
func list[T any](into *[]T, read func(scan func(...any) error) (T, error), sql string, args ...any) *query {
	return &query{sql: sql, args: args, anew: func() { *into = nil }, scan: func(scan func(...any) error) error {
		v, err := read(scan)
		*into = append(*into, v)
		return err
	}}
}

// each is a query whose rows f takes. Outside a transaction it is not asked again once f has taken one, since f may add it
// to others: see list. Where a statement joins by a range or a computed key, LATERAL with OFFSET 0
// gives the planner no choice: from the statistics of a small table it would read all of a large one.
func each(f func(scan func(...any) error) error, sql string, args ...any) *query {
	return &query{sql: sql, args: args, scan: f}
}

// send runs queries in one round trip, in their order.
func send(ctx context.Context, c *conn, qs ...*query) (err error) {
	b := &pgx.Batch{}
	for _, q := range qs {
		if q.anew != nil {
			q.anew()
		}
		b.Queue(q.sql, q.args...)
	}
	answers := c.SendBatch(ctx, b)
	defer func() {
		if e := answers.Close(); err == nil { // else it says the same again
			err = e
		}
	}()
	for _, q := range qs {
		if err := q.take(answers); err != nil {
			return err
		}
	}
	return nil
}

func (q *query) take(answers pgx.BatchResults) error {
	if q.scan == nil {
		tag, err := answers.Exec()
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
	if q.one && !q.seen {
		return pgx.ErrNoRows
	}
	return nil
}

// tx is a transaction. It begins with its first statements, in their round trip.
type tx struct {
	*conn
	ctx   context.Context
	begin string   // "" when it has begun
	again bool     // an earlier try of the same transaction may have been committed
	tail  []*query // go with the commit
}

// do runs statements in one round trip.
func (t *tx) do(qs ...*query) error {
	if len(qs) == 0 {
		return nil
	}
	if t.begin != "" {
		qs = slices.Insert(slices.Clone(qs), 0, stmt(nil, t.begin))
		t.begin = ""
	}
	return send(t.ctx, t.conn, qs...)
}

// last adds statements that run in the round trip of the commit: what they answer is known when the transaction has
// ended, and cannot keep it from being committed.
func (t *tx) last(qs ...*query) { t.tail = append(t.tail, qs...) }

// commit ends the transaction.
func (t *tx) commit() error {
	rolled := false
	commit := stmt(nil, "commit")
	commit.tag = func(tag string) { rolled = tag == "ROLLBACK" }
	err := t.do(append(t.tail, commit)...)
	if err == nil && rolled {
		return errors.New("the transaction was rolled back")
	}
	var said *pgconn.PgError
	if err != nil && (!errors.As(err, &said) || severity(said) != "ERROR") {
		return &unknownCommit{err} // also when the server ended while it waited for a standby
	}
	return err
}

// severity is how bad an error is, in English: Severity itself is in the language of lc_messages.
func severity(e *pgconn.PgError) string { return cmp.Or(e.SeverityUnlocalized, e.Severity) }

// unknownCommit says that the connection broke while committing.
type unknownCommit struct{ err error }

func (e *unknownCommit) Error() string {
	return campaign.ErrUnknownCommit.Error() + ": " + e.err.Error()
}

func (e *unknownCommit) Unwrap() []error { return []error{campaign.ErrUnknownCommit, e.err} }

// transact runs f in one transaction of the pool, once. crash is the crash point before its commit.
func (l *Ledger) transact(ctx context.Context, p *pool, begin, crash string, again bool, f func(*tx) error) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	t := &tx{conn: c, ctx: ctx, begin: begin, again: again}
	err = f(t)
	if err == nil && t.begin != "" && len(t.tail) == 0 {
		return nil // it had nothing to do
	}
	if err == nil && mutant.Awaits(crash) { // the crash is between the last statement and the commit, which go together otherwise
		err = t.do(t.tail...)
		t.tail = nil
	}
	if err == nil {
		mutant.Crash(crash)
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil && !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = c.Exec(end, "rollback") // if it fails, release closes the connection
	}
	return err
}

// change is transact, tried again when another transaction or the end of the server broke
// it. f may run several times, and must begin anew each time; what it does must be
// harmless when an earlier try was committed after all (tx.again).
func (l *Ledger) change(ctx context.Context, p *pool, crash string, f func(*tx) error) error {
	if l.readOnly {
		return fmt.Errorf("%s is open for reading only", l.name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	again := false
	return l.retry(ctx, p, func() error {
		err := l.transact(ctx, p, "begin", crash, again, f)
		again = again || errors.Is(err, campaign.ErrUnknownCommit)
		return err
	})
}

// read runs queries outside a transaction, each on what is committed when it begins. When the connection breaks it asks
// again from the beginning: queries of one row and list forget what they read, and after a row of each it fails.
func (l *Ledger) read(ctx context.Context, p *pool, qs ...*query) error {
	return l.ask(ctx, p, func(ctx context.Context) error {
		c, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		defer p.release(c)
		if err = send(ctx, c, qs...); err != nil && slices.ContainsFunc(qs, (*query).spent) {
			err = fmt.Errorf("%w: %w", errAmongRows, err)
		}
		return err
	})
}

// snapshot runs f in a transaction that sees one commit. It is short: while it lasts, no
// dead row after it can be cleaned up. f may run several times, and must begin anew each time.
func (l *Ledger) snapshot(ctx context.Context, p *pool, f func(*tx) error) error {
	return l.ask(ctx, p, func(ctx context.Context) error {
		return l.transact(ctx, p, "begin isolation level repeatable read read only", "", false, f)
	})
}

// ask is retry for what changes nothing, within the time that the pool gives a question.
func (l *Ledger) ask(ctx context.Context, p *pool, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.within, errSilent)
	defer cancel()
	return l.retry(ctx, p, func() error {
		err := f(ctx)
		if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), errSilent) {
			err = fmt.Errorf("%w within %s: %v", errSilent, p.within, err) //nolint:errorlint // the deadline was not the caller's
		}
		return err
	})
}

// retry calls f until it succeeds or fails for good.
func (l *Ledger) retry(ctx context.Context, p *pool, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if err == nil {
			return nil
		}
		what := classify(err)
		if what == broken || errors.Is(context.Cause(ctx), errSilent) {
			p.forget()
		}
		if what == final || errors.Is(err, errAmongRows) || n+1 == tries || ctx.Err() != nil {
			return l.explain(err)
		}
		// 10, 20, 40, 80 ms, each between a half and the whole of it: those who met do not meet again.
		pause := 10 * time.Millisecond << n
		select {
		case <-ctx.Done():
			return l.explain(err)
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}
