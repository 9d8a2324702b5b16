package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// urgency orders what waits for the writer.
type urgency int

const (
	urgent  urgency = iota // intents and leases: a slot's instant is near
	results                // outcomes, decisions about doubt, the operator
	events                 // webhooks: a 2xx waits
	bulk                   // imports
	urgencies
)

// batchRows bounds a transaction: at 10 µs a row about 80 ms, and a WAL of a few MB.
const batchRows = 8192

// op is one operation that waits for the writer.
type op struct {
	urgency urgency
	rows    int             // how many rows it touches, roughly
	crash   string          // the crash point before the commit of a transaction that holds it
	run     func(*tx) error // may run twice, when a neighbour fails: it sets what it answers anew
	err     error
	done    chan struct{}
	state   atomic.Int32
}

const (
	opWaits = iota
	opTaken
	opAbandoned
)

// writer owns the one connection that writes.
type writer struct {
	ledger *Ledger
	tx     *tx
	check  *checkpointer
	ended  chan struct{}

	mu     sync.Mutex
	queues [urgencies][]*op
	closed bool
	passed bool          // the last transaction left a bulk operation waiting
	wake   chan struct{} // holds one token while something may wait
}

func startWriter(ctx context.Context, l *Ledger) (*writer, error) {
	conn, err := l.writes.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		ledger: l,
		tx:     &tx{conn: conn, stmts: map[string]*sql.Stmt{}},
		check:  startCheckpointer(l),
		ended:  make(chan struct{}),
		wake:   make(chan struct{}, 1),
	}
	go w.loop()
	return w, nil
}

// stop writes what waits and ends the goroutine.
func (w *writer) stop() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.nudge()
	<-w.ended
	w.check.stop()
	return w.tx.close()
}

func (w *writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do runs f in a transaction of the writer and returns after the commit. If ctx ends
// while it still waits, nothing is written; once it is taken up the answer is awaited,
// so that the caller never has to guess.
func (w *writer) do(ctx context.Context, o *op) error {
	o.done = make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ledger.ErrClosed
	}
	w.queues[o.urgency] = append(w.queues[o.urgency], o)
	w.mu.Unlock()
	w.nudge()
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
				_, _ = w.tx.exec("PRAGMA wal_checkpoint(PASSIVE)") // if it cannot now, it can a second later
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

// take empties the queues, most urgent first, up to batchRows. An import's chunk waits
// while others are served, but for one transaction at most. It reports false when the
// writer is to end.
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
				break // one chunk a transaction
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
		o.err = w.explain(o.err)
		close(o.done)
	}
}

// explain makes an error of SQLite readable; the ledger's own stay as they are.
func (w *writer) explain(err error) error {
	if err == nil || errors.Is(err, campaign.ErrFenced) || errors.Is(err, campaign.ErrNoRun) || errors.Is(err, campaign.ErrRunExists) {
		return err
	}
	return explain(w.ledger.path, err)
}

// transact runs the batch in one transaction. When an operation fails it takes the others back with it,
// and each runs again in a transaction of its own; that is rare, and savepoints around each,
// the other way, cost a copy of every page that it touches. It returns an error that concerns all of the batch;
// op.err is that of one.
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

// attempt commits all of the batch or nothing. It reports whether an operation failed.
func (w *writer) attempt(batch []*op) (failed bool, err error) {
	t := w.tx
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	for _, o := range batch {
		if o.err = o.run(t); o.err != nil {
			t.rollback()
			return true, nil //nolint:nilerr // the operation's own error, which its caller gets
		}
	}
	if mutant.Enabled {
		for _, o := range batch {
			if o.crash != "" {
				mutant.Crash(o.crash)
			}
		}
	}
	if _, err := t.exec("COMMIT"); err != nil {
		t.rollback()
		return false, fmt.Errorf("%w: %w", campaign.ErrUnknownCommit, err)
	}
	return false, nil
}

// write submits f; see writer.do.
func (l *Ledger) write(ctx context.Context, u urgency, f func(*tx) error) error {
	return l.submit(ctx, &op{urgency: u, rows: 1, run: f})
}

func (l *Ledger) submit(ctx context.Context, o *op) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	if l.writer == nil {
		return fmt.Errorf("ledger %s is open for reading only", l.path)
	}
	return l.writer.do(ctx, o)
}
