package ledger

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"campaignd/campaign"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Bounds of one call on the hot pools: the statement's own limits (see session) end it
// on the server, callTime here when the server does not answer any more.
const (
	callTime = 10 * time.Second
	tries    = 5 // of a transaction that another one, or the server's end, broke
)

// query is a statement and what becomes of its answer.
type query struct {
	sql  string
	args []any
	n    *int64                              // takes how many rows it changed
	scan func(scan func(...any) error) error // called for each row
	one  bool                                // scan must have been called: pgx.ErrNoRows otherwise
	seen bool
}

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

// each is a query whose rows f takes. Where a statement joins by a range or a computed key, LATERAL with OFFSET 0
// gives the planner no choice: from the statistics of a small table it would read all of a large one.
func each(f func(scan func(...any) error) error, sql string, args ...any) *query {
	return &query{sql: sql, args: args, scan: f}
}

// send runs queries in one round trip, in their order.
func send(ctx context.Context, c *conn, qs ...*query) (err error) {
	b := &pgx.Batch{}
	for _, q := range qs {
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

// pgTx is a transaction. It begins with its first statements, in their round trip.
type pgTx struct {
	*conn
	ctx   context.Context
	begin string // "" when it has begun
	again bool   // an earlier try of the same transaction may have been committed
	wrote bool
}

// do runs statements in one round trip.
func (t *pgTx) do(qs ...*query) error {
	if len(qs) == 0 {
		return nil
	}
	t.wrote = true
	if t.begin != "" {
		qs = slices.Insert(slices.Clone(qs), 0, stmt(nil, t.begin))
		t.begin = ""
	}
	return send(t.ctx, t.conn, qs...)
}

// unknownCommit says that the connection broke while committing.
type unknownCommit struct{ err error }

func (e *unknownCommit) Error() string {
	return campaign.ErrUnknownCommit.Error() + ": " + e.err.Error()
}
func (e *unknownCommit) Unwrap() []error { return []error{campaign.ErrUnknownCommit, e.err} }

// transact runs f in one transaction of the pool, once. crash is the crash point before its commit.
func (l *Postgres) transact(ctx context.Context, p *pool, begin, crash string, again bool, f func(*pgTx) error) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer p.release(c)
	t := &pgTx{conn: c, ctx: ctx, begin: begin, again: again}
	if err := f(t); err != nil {
		if !c.IsClosed() && t.begin == "" {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_, _ = c.Exec(end, "rollback") // if it fails, release closes the connection
		}
		return err
	}
	if t.begin != "" {
		return nil // it had nothing to do
	}
	if mutant.Enabled && crash != "" && t.wrote {
		mutant.Crash(crash)
	}
	tag, err := c.Exec(ctx, "commit")
	if err == nil && tag.String() == "ROLLBACK" {
		return errors.New("the transaction was rolled back")
	}
	var said *pgconn.PgError
	if err != nil && (!errors.As(err, &said) || said.Severity != "ERROR") {
		return &unknownCommit{err} // also when the server ended while it waited for a standby
	}
	return err
}

// change is transact, tried again when another transaction or the end of the server broke
// it. f may run several times, and must begin anew each time; what it does must be
// harmless when an earlier try was committed after all (pgTx.again).
func (l *Postgres) change(ctx context.Context, p *pool, crash string, f func(*pgTx) error) error {
	if l.readOnly {
		return fmt.Errorf("%s is open for reading only", l.name)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	again := false
	return l.retry(ctx, p, func() error {
		err := l.transact(ctx, p, "begin", crash, again, f)
		again = again || errors.Is(err, campaign.ErrUnknownCommit)
		return err
	})
}

// read runs queries outside a transaction, each on what is committed when it begins.
func (l *Postgres) read(ctx context.Context, p *pool, qs ...*query) error {
	return l.retry(ctx, p, func() error {
		c, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		defer p.release(c)
		return send(ctx, c, qs...)
	})
}

// snapshot runs f in a transaction that sees one commit. It is short: while it lasts, no
// dead row after it can be cleaned up.
func (l *Postgres) snapshot(ctx context.Context, p *pool, f func(*pgTx) error) error {
	return l.retry(ctx, p, func() error {
		return l.transact(ctx, p, "begin isolation level repeatable read read only", "", false, f)
	})
}

// retry calls f until it succeeds or fails for good.
func (l *Postgres) retry(ctx context.Context, p *pool, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if err == nil {
			return nil
		}
		what := classify(err)
		if what == broken {
			p.forget()
		}
		if what == final || n+1 == tries || ctx.Err() != nil {
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

// advice is what an error says about trying again.
type advice int

const (
	final    advice = iota // it would fail again
	collided               // with another transaction
	broken                 // the connection is, or cannot be made
)

func classify(err error) advice {
	var said *pgconn.PgError
	switch {
	case errors.Is(err, campaign.ErrFenced), errors.Is(err, campaign.ErrNoRun), errors.Is(err, campaign.ErrRunExists), errors.Is(err, pgx.ErrNoRows),
		errors.Is(err, ErrRestored), errors.Is(err, errClosed), errors.Is(err, errUnsafe),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return final
	case isAway(err), errors.Is(err, errStandby):
		return broken
	case errors.As(err, &said):
		switch {
		case said.Code == "40001", said.Code == "40P01", said.Code == "55P03": // serialization, deadlock, lock_timeout
			return collided
		case strings.HasPrefix(said.Code, "08"), strings.HasPrefix(said.Code, "57P"), said.Code == "53300", said.Code == "25P03":
			return broken // connection, shutdown, too many connections, idle in transaction
		case said.Code == "25006": // read-only: the primary became a standby
			return broken
		}
		return final
	}
	var cannot *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &cannot) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, campaign.ErrUnknownCommit) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return broken
	}
	return final
}

// explain says in one line what an error of PostgreSQL means and what to do.
func (l *Postgres) explain(err error) error {
	if err == nil || errors.Is(err, campaign.ErrFenced) || errors.Is(err, campaign.ErrNoRun) || errors.Is(err, campaign.ErrRunExists) ||
		errors.Is(err, errClosed) || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, errSaid) {
		return err
	}
	hint := ""
	var said *pgconn.PgError
	if errors.As(err, &said) {
		switch said.Code {
		case "28P01", "28000":
			hint = "it refuses the user or password: check the address in `ledger`, and pg_hba.conf"
		case "3D000":
			hint = "the database does not exist: create it with `createdb`"
		case "42501":
			hint = "the role lacks a right: make it the owner of the database's schema"
		case "42P07":
			hint = "it holds another program's tables: give the ledger a database of its own, or a schema (search_path in the address)"
		case "53100":
			hint = "its disk is full: nothing more can be recorded, so nothing more is sent"
		case "53300":
			hint = "it has no connection left: raise max_connections (12 a replica)"
		case "25006":
			hint = "it is a read-only standby: name the primary, or several hosts with target_session_attrs=read-write"
		case "57014":
			hint = "a statement took too long"
		}
	}
	text := oneLine(err.Error())
	var cannot *pgconn.ConnectError
	if errors.As(err, &cannot) {
		hint, text = cmp.Or(hint, unconnected(err)), attempts(err.Error())
	}
	if hint != "" {
		text = hint + ": " + text
	}
	return &saidError{fmt.Sprintf("ledger %s: %s", l.name, text), err}
}

// unconnected says what to do about a connection that could not be made, "" when that is not known.
func unconnected(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var said *pgconn.PgError
	switch {
	case errors.As(err, &said) && said.Code == "42704":
		return "it does not know a parameter of the address in `ledger`"
	case errors.As(err, &name):
		return "its host is not found: check the address in `ledger`"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing answers there: check that PostgreSQL runs, and the address in `ledger`"
	case errors.As(err, &certificate):
		return "its certificate is not trusted: give sslrootcert=FILE in the address, and the host name that it is made out for"
	}
	return ""
}

// refusedTLS ends what an attempt over TLS says of a server without it. With sslmode=prefer an attempt in the clear
// follows, and that one tells what is wrong.
const refusedTLS = "server refused TLS connection"

// attempts puts what each attempt to connect says into one line, each thing once.
func attempts(text string) string {
	lines := strings.Split(text, "\n")
	var said, refused []string
	for _, line := range lines[1:] { // the first says who wants to connect
		switch line = oneLine(line); {
		case strings.HasSuffix(line, refusedTLS):
			refused = []string{line}
		case !slices.Contains(said, line):
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		said = refused
	}
	text = oneLine(lines[0] + " " + strings.Join(said, " "))
	if strings.HasSuffix(text, refusedTLS) {
		text += "; sslmode=disable goes without TLS"
	}
	return text
}

// errSaid marks errors that explain has seen.
var errSaid = errors.New("explained")

// saidError is an explained error in one line.
type saidError struct {
	text string
	err  error
}

func (e *saidError) Error() string   { return e.text }
func (e *saidError) Unwrap() []error { return []error{errSaid, e.err} }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// plainText makes a text that PostgreSQL stores: it takes no NUL and nothing that is not
// UTF-8, and one such webhook would keep its whole batch from being stored, for ever.
func plainText(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
