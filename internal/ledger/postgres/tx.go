package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5/pgconn"
)

// Time limits of one call. The settings of the session end a statement on the server; these end the
// call here when the server stops answering. Without them a call to a host that died would wait
// until TCP gives up, after 15 minutes.
const (
	callTime = 10 * time.Second  // of every change, and of a query for sending or webhooks
	slowTime = 310 * time.Second // of a query on the reports' pool: its statement_timeout, and 10 s for the answer
	tries    = 5                 // of a transaction that another transaction or the server's end broke
)

// errSilent ends a call that the server did not answer in time. It is no context.DeadlineExceeded,
// because the deadline is not the caller's.
var errSilent = errors.New("the server did not answer")

// errAmongRows marks the error of a query that must not run again, because it has passed rows on.
var errAmongRows = errors.New("it broke off among its rows")

// tx is a transaction. It begins in the round trip of its first statements.
type tx struct {
	*connect.Conn
	ctx   context.Context
	begin string   // the statement that begins it; "" when it has begun
	again bool     // an earlier try of the same transaction may have been committed
	tail  []*query // sent with the commit

	options *ledger.Options // as the ledger was opened
	stale   map[int64]bool  // segments whose outcomes it changes
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
	return send(t.ctx, t.Conn, qs...)
}

// last adds statements that run in the round trip of the commit. Their answers are known only when
// the transaction has ended, and cannot prevent the commit.
func (t *tx) last(qs ...*query) { t.tail = append(t.tail, qs...) }

// flush runs the statements that wait for the commit now.
func (t *tx) flush() error {
	qs := t.tail
	t.tail = nil
	return t.do(qs...)
}

// sqlChanged adds a segment once. Two transactions may add it at the same time, and none waits.
const sqlChanged = `INSERT INTO changed (segment, at) SELECT s, $2 FROM unnest($1::bigint[]) s
	WHERE (SELECT true FROM changed c WHERE c.segment = s LIMIT 1) IS NULL`

// recount notes that the transaction changes outcomes of the segments of these row ids. Each
// statement that changes what a summary counts needs it, or has it in its SQL (touchRuns).
func (t *tx) recount(rids ...int64) {
	if t.stale == nil {
		t.stale = map[int64]bool{}
	}
	for _, rid := range rids {
		t.stale[ledger.SegmentOf(rid)] = true
	}
}

// tellChanged writes the segments of recount, so that nobody trusts their summaries.
func (t *tx) tellChanged() *query {
	return stmt(nil, sqlChanged, slices.Sorted(maps.Keys(t.stale)), ledger.Millis(time.Now()))
}

const (
	sqlBegin    = `begin`
	sqlSnapshot = `begin isolation level repeatable read read only`
	sqlCommit   = `commit`
	sqlRollback = `rollback`
)

// commit ends the transaction.
func (t *tx) commit() error {
	rolled := false
	commit := stmt(nil, sqlCommit)
	commit.tag = func(tag string) { rolled = tag == "ROLLBACK" }
	err := t.do(append(t.tail, commit)...)
	if err == nil && rolled {
		return errors.New("the transaction was rolled back")
	}
	var said *pgconn.PgError
	if err != nil && (!errors.As(err, &said) || severity(said) != "ERROR") {
		return &unknownCommit{err} // also an end of the server while it waited for a standby
	}
	return err
}

// severity returns the severity of an error in English; Severity is in the language of lc_messages.
func severity(e *pgconn.PgError) string { return cmp.Or(e.SeverityUnlocalized, e.Severity) }

// unknownCommit says that the connection broke while committing.
type unknownCommit struct{ err error }

func (e *unknownCommit) Error() string {
	return campaign.ErrUnknownCommit.Error() + ": " + e.err.Error()
}

func (e *unknownCommit) Unwrap() []error { return []error{campaign.ErrUnknownCommit, e.err} }

// transact runs f once, in one transaction of the pool. crash is the crash point before its commit.
func (l *Ledger) transact(ctx context.Context, p *connect.Pool, begin, crash string, again bool, f func(*tx) error) error {
	c, err := p.Acquire(ctx)
	if err != nil {
		return err
	}
	defer p.Release(c)
	c.Changed = false
	t := &tx{Conn: c, ctx: ctx, begin: begin, again: again, options: &l.options}
	if err = f(t); len(t.stale) > 0 {
		t.last(t.tellChanged())
	}
	if err == nil && t.begin != "" && len(t.tail) == 0 {
		return nil // it had nothing to do
	}
	if err == nil && mutant.Awaits(crash) { // crash between the last statement and the commit, which otherwise go together
		err = t.do(t.tail...)
		t.tail = nil
	}
	if err == nil {
		mutant.Crash(crash)
	}
	if err == nil {
		if err = t.commit(); err == nil && c.Changed { // one that changes nothing succeeds on a full disk too
			l.outage.Wrote()
		}
	}
	if err != nil && !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = c.Exec(end, sqlRollback) // if it fails, release closes the connection
	}
	return err
}

// change is transact that is tried again when another transaction or the end of the server aborts
// it. f may run several times and must start over each time. An earlier try may have been committed
// although it failed (tx.again). The next one must do no harm then.
func (l *Ledger) change(ctx context.Context, p *connect.Pool, crash string, f func(*tx) error) error {
	if l.readOnly {
		return fmt.Errorf("%s is open for reading only", l.name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	again := false
	return l.retry(ctx, p, func() error {
		err := l.transact(ctx, p, sqlBegin, crash, again, f)
		again = again || errors.Is(err, campaign.ErrUnknownCommit)
		return err
	})
}

// now is the database's clock, as it was read a moment ago or, if the exact time matters, now.
func (l *Ledger) now(ctx context.Context, exact bool) (time.Time, error) {
	return l.clock.Now(exact, func() (time.Time, error) {
		var at int64
		err := l.read(ctx, l.hooks, row(&at, sqlNow))
		return ledger.TimeOf(at), err
	})
}

// read runs queries outside a transaction; each sees what was committed when it began. When the
// connection breaks, read starts over: row, rowOf and list forget what they read. A query made
// with each() that has passed on a row cannot start over, and read fails.
func (l *Ledger) read(ctx context.Context, p *connect.Pool, qs ...*query) error {
	return l.ask(ctx, p, func(ctx context.Context) error {
		c, err := p.Acquire(ctx)
		if err != nil {
			return err
		}
		defer p.Release(c)
		if err = send(ctx, c, qs...); err != nil && slices.ContainsFunc(qs, (*query).unrepeatable) {
			err = fmt.Errorf("%w: %w", errAmongRows, err)
		}
		return err
	})
}

// snapshot runs f in a transaction that sees the database at one moment. f must be short, because
// later dead rows cannot be cleaned up before it ends. It may run several times and must start over
// each time.
func (l *Ledger) snapshot(ctx context.Context, p *connect.Pool, f func(*tx) error) error {
	return l.ask(ctx, p, func(ctx context.Context) error {
		return l.transact(ctx, p, sqlSnapshot, "", false, f)
	})
}

// ask is retry for a call that changes nothing, within the pool's time limit.
func (l *Ledger) ask(ctx context.Context, p *connect.Pool, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.Within, errSilent)
	defer cancel()
	return l.retry(ctx, p, func() error {
		err := f(ctx)
		if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), errSilent) {
			err = fmt.Errorf("%w within %s: %v", errSilent, p.Within, err) //nolint:errorlint // the deadline is not the caller's
		}
		return err
	})
}

// retry calls f until it succeeds or fails for good.
func (l *Ledger) retry(ctx context.Context, p *connect.Pool, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if err == nil {
			return nil
		}
		what := connect.Classify(err)
		if what == connect.Broken || errors.Is(context.Cause(ctx), errSilent) {
			p.Forget()
		}
		if what == connect.Final || errors.Is(err, errAmongRows) || n+1 == tries || ctx.Err() != nil {
			silent := p.Within == callTime && errors.Is(context.Cause(ctx), errSilent)
			if what == connect.Broken || silent || connect.TakesNoWrites(err) {
				return l.outage.Failed(l.explain(err))
			}
			return l.explain(err)
		}
		// Between a half and the whole of 10, 20, 40, 80 ms, so that transactions that collided do not
		// collide again.
		pause := 10 * time.Millisecond << n
		select {
		case <-ctx.Done():
			return l.explain(err)
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}

// explain is explain of the package with the ledger's name.
func (l *Ledger) explain(err error) error { return connect.Explain(l.name, err) }

// Unwritable returns since when each call that writes or reaches the server has failed, and the
// error of the last one; nil when the last write succeeded.
func (l *Ledger) Unwritable() (since time.Time, err error) { return l.outage.Since() }
