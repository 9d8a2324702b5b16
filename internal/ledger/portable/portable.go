// Package portable is the half of a ledger whose statements both databases take as they are: keys
// of operators, jobs, firings, dropped files, notifications, lists and reports. A backend embeds
// Ledger and passes its connections as a DB. Statements that differ for a measured reason, because
// of their locks or because PostgreSQL takes arrays, are in the backends.
//
// Statements are written for PostgreSQL: $1 is an argument, greatest and least choose among values,
// ledger_now() is the clock of leases. SQLite's DB translates these. PostgreSQL's DB makes texts
// storable that no server takes.
package portable

import (
	"context"
	"sync/atomic"
	"time"

	"campaignd/internal/ledger"
)

// Work tells whose work a call is. PostgreSQL has connections for each; on SQLite, where one
// writer serves all, it is the order in which they are served.
type Work int

// The kinds of work, the most urgent first.
const (
	Sending  Work = iota // of senders and operators
	Webhooks             // of the service's events
	Reports              // reports, imports and long lists
)

// Scan reads the columns of one row.
type Scan = func(into ...any) error

// Each calls f for every row of a query.
type Each = func(f func(Scan) error, query string, args ...any) error

// Tx is a transaction that changes the ledger.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(query string, args ...any) (int64, error)
	// Each calls f for every row of a query. f must not use the transaction.
	Each(f func(Scan) error, query string, args ...any) error
	// Lock is Each of rows that no other transaction changes before this one ends.
	Lock(f func(Scan) error, query string, args ...any) error
	// Last is Exec that PostgreSQL sends with the commit, behind what was added before.
	Last(query string, args ...any) error
	// Again reports whether an earlier try of the transaction may have been committed.
	Again() bool
}

// DB is what a backend gives: its connections.
type DB interface {
	// Change runs f in a transaction and commits it. f may run again, and starts over then.
	Change(ctx context.Context, w Work, f func(Tx) error) error
	// Erased returns which of the keys were erased. An erasure that begins later erases what the
	// transaction stores of the others.
	Erased(t Tx, keys []int64) (ledger.Erased, error)
	// Rows calls f for every row of a query. When the connection breaks, it calls anew, which
	// forgets the rows, and starts over.
	Rows(ctx context.Context, w Work, anew func(), f func(Scan) error, query string, args ...any) error
	// Snapshot runs queries of reports that see the ledger at one moment. f must be short. It may run
	// again, and starts over then.
	Snapshot(ctx context.Context, f func(Each) error) error
	// Passed waits until each transaction has ended that was running when it was called.
	Passed(ctx context.Context) error
	// SkipFailed skips what is queued of failed runs.
	SkipFailed(ctx context.Context) error
	// Hash is the key with which the ledger makes pseudonyms of numbers.
	Hash() ledger.HashKey
}

// Statements are the backend's own: PostgreSQL keeps some columns of a run in other tables, so that
// replicas do not wait for each other, and has NULL where SQLite has 0 or an empty text.
type Statements struct {
	Runs         string   // the head of every query whose rows ledger.ScanRun reads, of the run r
	NewRun       []string // each adds a row of the new run $1 to another table
	LastEvent    string   // when the last status of the run $1 was applied
	EraseOutcome string   // erases the outcome of the delivery $1
	LockErasure  string   // waits for the transactions that store numbers; empty: there are none

	Retirable     string // the next segment whose deliveries ended before $1, as ledger.ScanSegment reads it
	RetireTotals  string // counts the outcomes [$1, $2) of the segment $3 in retired_total, and may delete them
	RetireSenders string // deletes who reached the recipients of the deliveries [$1, $2) before $3

	// Paired selects columns of the deliveries d and the outcomes o with the row ids [$1, $2), joined
	// where both are there, and their segments s, which are within [$3, $4).
	Paired func(columns string) string

	// Counted calls f with each delivery and outcome with a row id within [from, to), joined where
	// both are there, or with the outcomes alone. Marked is the row id of the mark.
	Counted func(each Each, f func(*ledger.CountedRow), deliveries bool, from, to, marked int64) error
}

// Ledger implements the portable half of campaign.Ledger.
type Ledger struct {
	db      DB
	own     Statements
	options ledger.Options
	folds   *folding

	forgotAt *atomic.Int64 // when ForgetPeople last worked, in Unix milliseconds
	wishAt   *atomic.Int64 // the id of a wish up to which SweepWishes has come; 0: it starts anew
}

// New returns the portable half of a ledger that was opened with these options.
func New(db DB, own Statements, o ledger.Options) Ledger {
	return Ledger{db, own, o, &folding{busy: map[int64]time.Time{}}, new(atomic.Int64), new(atomic.Int64)}
}

// add returns an f that adds rows to *into, as read returns them.
func add[T any](into *[]T, read func(Scan) (T, error)) func(Scan) error {
	return func(scan Scan) error {
		v, err := read(scan)
		*into = append(*into, v)
		return err
	}
}

// list reads the rows of a query.
func list[T any](ctx context.Context, db DB, w Work, read func(Scan) (T, error), query string, args ...any) (all []T, err error) {
	err = db.Rows(ctx, w, func() { all = nil }, add(&all, read), query, args...)
	return all, err
}

// one reads the one row of a query, with Each or Lock of a transaction. It is not found when the
// query has no row.
func one(each Each, into []any, query string, args ...any) (found bool, err error) {
	err = each(func(scan Scan) error {
		found = true
		return scan(into...)
	}, query, args...)
	return found, err
}

// row is one outside of a transaction.
func (l *Ledger) row(ctx context.Context, w Work, into []any, query string, args ...any) (found bool, err error) {
	err = l.db.Rows(ctx, w, func() { found = false }, func(scan Scan) error {
		found = true
		return scan(into...)
	}, query, args...)
	return found, err
}

// exec runs one statement in a transaction and returns how many rows it changed.
func (l *Ledger) exec(ctx context.Context, w Work, query string, args ...any) (n int64, err error) {
	err = l.db.Change(ctx, w, func(t Tx) (err error) {
		n, err = t.Exec(query, args...)
		return err
	})
	return n, err
}
