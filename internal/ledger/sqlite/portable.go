package sqlite

import (
	"context"
	"database/sql/driver"
	"regexp"
	"strings"
	"sync"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"

	"modernc.org/sqlite"
)

// ownStatements are those of package portable that differ.
var ownStatements = portable.Statements{
	Runs:      sqlRuns,
	NewRun:    []string{`INSERT INTO run_count (no) VALUES ($1)`},
	LastEvent: `SELECT event_at FROM run_count WHERE no = $1`,
	EraseOutcome: `UPDATE outcome SET message_id = CASE WHEN message_id <> '' THEN 'erased' ELSE '' END, key = 0,
		detail = '', warning = '', request_id = '', trace_id = '' WHERE rid = $1`,

	Retirable:     sqlRetirable,
	RetireTotals:  sqlRetireTotals,
	RetireSenders: sqlRetireSenders,

	Paired:  paired,
	Counted: counted,
}

// store gives package portable the connections of a ledger.
type store struct{ ledger *Ledger }

// urgencies of the kinds of work.
var urgencyOf = [...]urgency{portable.Sending: results, portable.Webhooks: events, portable.Reports: bulk}

func (s store) Change(ctx context.Context, w portable.Work, f func(portable.Tx) error) error {
	return s.ledger.write(ctx, urgencyOf[w], func(t *tx) error { return f(portableTx{t}) })
}

func (s store) Erased(t portable.Tx, keys []int64) (ledger.Erased, error) {
	return erasedOf(t.(portableTx).row, s.ledger.key, keys)
}

func (s store) Rows(ctx context.Context, _ portable.Work, _ func(), f func(portable.Scan) error, query string, a ...any) error {
	return s.ledger.read().each(ctx, translated(query), a, f)
}

func (s store) Snapshot(ctx context.Context, f func(portable.Each) error) error {
	return s.ledger.snapshot(ctx, func(r reader) error {
		return f(func(f func(portable.Scan) error, query string, a ...any) error {
			return r.each(ctx, translated(query), a, f)
		})
	})
}

// Passed has nothing to wait for: the one writer has ended each transaction before the next begins.
func (s store) Passed(context.Context) error { return nil }

func (s store) SkipFailed(ctx context.Context) error { return s.ledger.skipFailed(ctx) }

func (s store) Hash() ledger.HashKey { return s.ledger.key }

// portableTx is a transaction for package portable. It is the only one that writes, so it needs no
// lock.
type portableTx struct{ *tx }

func (t portableTx) Exec(query string, a ...any) (int64, error) {
	return t.exec(translated(query), a...)
}

func (t portableTx) Each(f func(portable.Scan) error, query string, a ...any) error {
	return t.each(translated(query), a, f)
}

func (t portableTx) Lock(f func(portable.Scan) error, query string, a ...any) error {
	return t.Each(f, query, a...)
}

func (t portableTx) Last(query string, a ...any) error {
	_, err := t.Exec(query, a...)
	return err
}

// Again reports that it is the only try: the answer of the file is never lost.
func (t portableTx) Again() bool { return false }

var (
	argument = regexp.MustCompile(`\$([0-9])`)
	choices  = strings.NewReplacer("greatest(", "max(", "least(", "min(")

	translations sync.Map // of portable statements, which are few
)

// translated returns a portable statement as SQLite takes it.
func translated(query string) string {
	t, ok := translations.Load(query)
	if !ok {
		t, _ = translations.LoadOrStore(query, choices.Replace(argument.ReplaceAllString(query, "?$1")))
	}
	return t.(string)
}

// registerClock gives SQLite the function ledger_now: this process's clock, in Unix milliseconds. A
// driver can register a function only once.
var registerClock = sync.OnceValue(func() error {
	return sqlite.RegisterScalarFunction("ledger_now", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return ledger.Millis(time.Now()), nil
	})
})
