package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// urgency orders the operations that wait for the writer.
type urgency int

const (
	urgent  urgency = iota // intents and leases: sending waits for them
	results                // outcomes, decisions about doubts, the operator's commands
	events                 // webhooks: the sender of the webhook waits for its 2xx
	bulk                   // imports, long lists of suppressions
	urgencies
)

// batchRows limits a transaction: 8,192 rows x 10 µs = 80 ms, and a few MB of write-ahead log.
const batchRows = 8192

// op is one operation that waits for the writer.
type op struct {
	urgency urgency
	rows    int             // roughly how many rows it touches
	crash   string          // crash point before the commit of its transaction (docs/protocol.md#crash-points)
	run     func(*tx) error // runs again if another operation of its transaction fails: it must set its answer anew
	err     error
	done    chan struct{}
	state   atomic.Int32
}

// States of an op.
const (
	opWaits = iota
	opTaken
	opAbandoned
)

// writer owns the one connection that writes, and the goroutine that uses it.
type writer struct {
	ledger *Ledger
	tx     *tx
	check  *checkpointer
	ended  chan struct{}

	mu     sync.Mutex
	queues [urgencies][]*op
	closed bool
	passed bool          // the last transaction left a bulk operation waiting, so the next one takes it
	wake   chan struct{} // has one token while something may wait
}

func startWriter(ctx context.Context, l *Ledger) (*writer, error) {
	conn, err := l.writes.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		ledger: l,
		tx:     &tx{conn: conn, stmts: map[string]*sql.Stmt{}, options: l.options, stale: map[int64]bool{}, exists: map[string]bool{}},
		check:  startCheckpointer(l),
		ended:  make(chan struct{}),
		wake:   make(chan struct{}, 1),
	}
	go w.loop()
	return w, nil
}

// stop lets the writer commit the operations that wait, and ends its goroutine.
func (w *writer) stop() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wakeUp()
	<-w.ended
	w.check.stop()
	return w.tx.close()
}

func (w *writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do runs o in a transaction of the writer and returns after the commit. If ctx ends while o still
// waits, nothing is written. Once the writer has taken o, do returns its answer even if ctx ends,
// so that the caller always learns whether o was committed.
func (w *writer) do(ctx context.Context, o *op) error {
	o.done = make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ledger.ErrClosed
	}
	w.queues[o.urgency] = append(w.queues[o.urgency], o)
	w.mu.Unlock()
	w.wakeUp()
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(opWaits, opAbandoned) {
			return ctx.Err()
		}
		<-o.done
	}
	return o.err
}

func (w *writer) loop() {
	defer close(w.ended)
	for {
		batch, more := w.take()
		if len(batch) > 0 {
			w.commit(batch)
			if w.check.long.Swap(false) {
				_, _ = w.tx.exec(sqlCheckpoint) // the checkpointer repeats one that fails
			}
			w.check.wrote()
			continue
		}
		if !more {
			return
		}
		<-w.wake
	}
}

// take removes operations from the queues, most urgent first, up to batchRows rows. A bulk
// operation waits while others do, but for one transaction only. A transaction takes at most one
// bulk operation. more is false when the writer ends.
func (w *writer) take() (batch []*op, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows := 0
	for u := range w.queues {
		q := w.queues[u]
		if urgency(u) == bulk && len(q) > 0 && len(batch) > 0 && !w.passed {
			w.passed = true
			break
		}
		n := 0
		for n < len(q) && (rows == 0 || rows+q[n].rows <= batchRows) {
			o := q[n]
			q[n] = nil
			n++
			if !o.state.CompareAndSwap(opWaits, opTaken) {
				continue
			}
			rows += o.rows
			batch = append(batch, o)
			if urgency(u) == bulk {
				break
			}
		}
		if urgency(u) == bulk {
			w.passed = false
		}
		if w.queues[u] = q[n:]; len(w.queues[u]) == 0 {
			w.queues[u] = nil
		}
	}
	return batch, !w.closed || len(batch) > 0
}

// commit runs the batch in one transaction and answers each operation.
func (w *writer) commit(batch []*op) {
	err := w.transact(batch)
	for _, o := range batch {
		if o.err == nil {
			o.err = err
		}
	}
	if n := slices.IndexFunc(batch, func(o *op) bool { return takesNoWrites(o.err) }); n >= 0 {
		failed := w.ledger.outage.Failed(w.explain(batch[n].err)) // once for all of the batch
		for _, o := range batch {
			if takesNoWrites(o.err) {
				o.err = failed
			}
		}
	}
	for _, o := range batch {
		if !errors.Is(o.err, campaign.ErrUnwritable) {
			o.err = w.explain(o.err)
		}
		close(o.done)
	}
}

// explain says in words what an error of SQLite means. It does not change errors that the
// interfaces promise.
func (w *writer) explain(err error) error {
	if ledger.Promised(err) {
		return err
	}
	return explain(w.ledger.path, err)
}

// transact runs the batch in one transaction. An operation that fails rolls all of it back, and
// then each operation runs again in a transaction of its own. That is rare; a savepoint around each
// operation would avoid it, but copies every page that the operation touches. transact returns the
// error of the whole batch and sets op.err to that of one operation.
func (w *writer) transact(batch []*op) error {
	failed, err := w.attempt(batch)
	if !failed || len(batch) == 1 {
		return err
	}
	for _, o := range batch {
		o.err = nil
		if _, err := w.attempt([]*op{o}); err != nil && o.err == nil {
			o.err = err
		}
	}
	return nil
}

const (
	sqlBegin    = `BEGIN IMMEDIATE`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`
)

// attempt commits all of the batch or nothing. It reports whether an operation failed.
func (w *writer) attempt(batch []*op) (failed bool, err error) {
	t := w.tx
	if gone := w.ledger.gone.Load(); gone != nil {
		return false, *gone
	}
	if _, err := t.exec(sqlBegin); err != nil {
		return false, err
	}
	t.changed = false
	clear(t.stale)
	clear(t.exists)
	for _, o := range batch {
		if o.err = o.run(t); o.err != nil {
			t.rollback()
			return true, nil //nolint:nilerr // op.err carries the operation's error to its caller
		}
	}
	if err := t.tellChanged(); err != nil {
		t.rollback()
		return false, err
	}
	if mutant.Enabled {
		for _, o := range batch {
			if o.crash != "" {
				mutant.Crash(o.crash)
			}
		}
	}
	changed := t.changed // before COMMIT, for which SQLite counts the rows of an earlier statement
	if _, err := t.exec(sqlCommit); err != nil {
		t.rollback()
		return false, fmt.Errorf("%w: %w", campaign.ErrUnknownCommit, err)
	}
	if changed { // one that changes nothing succeeds on a full disk too
		w.ledger.outage.Wrote()
	}
	return false, nil
}

// write runs f as an operation of one row; see writer.do.
func (l *Ledger) write(ctx context.Context, u urgency, f func(*tx) error) error {
	return l.submit(ctx, &op{urgency: u, rows: 1, run: f})
}

// submit gives o to the writer; see writer.do.
func (l *Ledger) submit(ctx context.Context, o *op) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	if l.writer == nil {
		return fmt.Errorf("ledger %s is open for reading only", l.path)
	}
	return l.writer.do(ctx, o)
}
