package postgres

import (
	"context"
	"errors"
	"reflect"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5/pgconn"
)

// ownStatements are those of package portable that differ.
var ownStatements = portable.Statements{
	Runs:      sqlRuns,
	NewRun:    []string{`INSERT INTO run_count (no) VALUES ($1)`, `INSERT INTO run_event (no) VALUES ($1)`},
	LastEvent: `SELECT event_at FROM run_event WHERE no = $1`, // with the precision of touchStep
	EraseOutcome: `UPDATE outcome SET message_id = CASE WHEN message_id IS NOT NULL THEN 'erased' END, key = NULL,
		detail = NULL, warning = NULL, request_id = NULL, trace_id = NULL WHERE rid = $1`,
	LockErasure: sqlLockErasure,

	Retirable:     sqlRetirable,
	RetireTotals:  sqlRetireTotals,
	RetireSenders: sqlRetireSenders,

	Paired:  paired,
	Counted: counted,
}

// store gives package portable the connections of a ledger.
type store struct{ ledger *Ledger }

func (s store) pool(w portable.Work) *connect.Pool {
	return [...]*connect.Pool{portable.Sending: s.ledger.sender, portable.Webhooks: s.ledger.hooks, portable.Reports: s.ledger.reports}[w]
}

func (s store) Change(ctx context.Context, w portable.Work, f func(portable.Tx) error) error {
	err := s.ledger.change(ctx, s.pool(w), "", func(t *tx) error { return f(portableTx{t}) })
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.ConstraintName == "dropped_file_content" {
		return campaign.ErrSameContent
	}
	return err
}

func (s store) Erased(t portable.Tx, keys []int64) (ledger.Erased, error) {
	return s.ledger.erasedOf(t.(portableTx).tx, keys)
}

func (s store) Rows(ctx context.Context, w portable.Work, anew func(), f func(portable.Scan) error, query string, args ...any) error {
	q := each(f, query, storable(args)...)
	q.anew = anew
	return s.ledger.read(ctx, s.pool(w), q)
}

func (s store) Snapshot(ctx context.Context, f func(portable.Each) error) error {
	return s.ledger.snapshot(ctx, s.ledger.reports, func(t *tx) error { return f(portableTx{t}.Each) })
}

const (
	// Each transaction has a lock on its virtual id from its beginning to its end, before it has a
	// number.
	sqlRunning = `SELECT coalesce(array_agg(l.virtualxid), '{}') FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.pid <> pg_backend_pid()
		AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND coalesce(a.backend_type, 'client backend') = 'client backend'`
	sqlStillRunning = `SELECT count(*) FROM pg_locks WHERE locktype = 'virtualxid' AND mode = 'ExclusiveLock' AND virtualxid = ANY($1)`
)

// passedPoll is how often Passed asks; the transactions of sending take a few milliseconds.
const passedPoll = 5 * time.Millisecond

// Passed implements portable.DB.
func (s store) Passed(ctx context.Context) error {
	var running []string
	if err := s.ledger.read(ctx, s.ledger.reports, row(&running, sqlRunning)); err != nil {
		return err
	}
	for still := int64(len(running)); still > 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(passedPoll):
		}
		if err := s.ledger.read(ctx, s.ledger.reports, row(&still, sqlStillRunning, running)); err != nil {
			return err
		}
	}
	return nil
}

func (s store) SkipFailed(ctx context.Context) error { return s.ledger.skipFailed(ctx) }

func (s store) Hash() ledger.HashKey { return s.ledger.key }

// portableTx is a transaction for package portable.
type portableTx struct{ *tx }

func (t portableTx) Exec(query string, args ...any) (n int64, err error) {
	err = t.do(stmt(&n, query, storable(args)...))
	return n, err
}

func (t portableTx) Each(f func(portable.Scan) error, query string, args ...any) error {
	return t.do(each(f, query, storable(args)...))
}

func (t portableTx) Lock(f func(portable.Scan) error, query string, args ...any) error {
	return t.Each(f, query+" FOR NO KEY UPDATE", args...)
}

func (t portableTx) Last(query string, args ...any) error {
	t.last(stmt(nil, query, storable(args)...))
	return nil
}

func (t portableTx) Again() bool { return t.again }

// storable makes the texts among arguments ledger.PlainText.
func storable(args []any) []any {
	for i, a := range args {
		if v := reflect.ValueOf(a); v.Kind() == reflect.String {
			args[i] = ledger.PlainText(v.String())
		}
	}
	return args
}
