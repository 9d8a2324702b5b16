package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// queued is a writer without a goroutine, in which these operations wait.
func queued(passed bool, waiting ...*op) *writer {
	w := &writer{wake: make(chan struct{}, 1), passed: passed}
	for _, o := range waiting {
		w.queues[o.urgency] = append(w.queues[o.urgency], o)
	}
	return w
}

// sizes are the rows of operations, in their order.
func sizes(ops []*op) string {
	var s []string
	for _, o := range ops {
		s = append(s, fmt.Sprint(o.rows))
	}
	return strings.Join(s, " ")
}

func TestATransactionTakesAtMostBatchRows(t *testing.T) {
	t.Parallel()
	abandoned := func(o *op) *op {
		o.state.Store(opAbandoned)
		return o
	}
	for name, c := range map[string]struct {
		passed  bool
		waiting []*op
		want    []string // the transactions, by the rows of their operations
	}{
		"AFullTransaction": {false, []*op{{urgency: results, rows: batchRows - 1}, {urgency: results, rows: 1}, {urgency: results, rows: 2}},
			[]string{"8191 1", "2"}},
		"OneRowTooMany":      {false, []*op{{urgency: results, rows: batchRows - 1}, {urgency: results, rows: 2}}, []string{"8191", "2"}},
		"OneThatIsTooLarge":  {false, []*op{{urgency: results, rows: batchRows + 1}, {urgency: results, rows: 3}}, []string{"8193", "3"}},
		"UrgentOnesFirst":    {false, []*op{{urgency: events, rows: 3}, {urgency: results, rows: 2}, {urgency: urgent, rows: 1}}, []string{"1 2 3"}},
		"AbandonedOnes":      {false, []*op{abandoned(&op{urgency: results, rows: 7}), {urgency: results, rows: 2}}, []string{"2"}},
		"AnImportPasses":     {false, []*op{{urgency: urgent, rows: 1}, {urgency: bulk, rows: 2}}, []string{"1", "2"}},
		"AnImportPassedOnce": {true, []*op{{urgency: urgent, rows: 1}, {urgency: bulk, rows: 2}}, []string{"1 2"}},
		"AnImportAlone":      {false, []*op{{urgency: bulk, rows: 1}, {urgency: bulk, rows: 2}}, []string{"1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := queued(c.passed, c.waiting...)
			for i, want := range c.want {
				batch, more := w.take()
				if got := sizes(batch); got != want || !more {
					t.Errorf("transaction %d: rows %q, more %v; want %q, true", i+1, got, more, want)
				}
			}
			if batch, _ := w.take(); len(batch) > 0 {
				t.Errorf("one more transaction of %q; want none", sizes(batch))
			}
		})
	}
}

// An import waits for one transaction of the others, and not for a second.
func TestAnImportWaitsForOneTransactionAtMost(t *testing.T) {
	t.Parallel()
	w := queued(false, &op{urgency: urgent, rows: 1}, &op{urgency: bulk, rows: 10}, &op{urgency: bulk, rows: 20})
	for i, want := range []string{"1", "2 10", "3", "4 20"} {
		if i > 0 {
			w.queues[urgent] = append(w.queues[urgent], &op{urgency: urgent, rows: i + 1})
		}
		if batch, _ := w.take(); sizes(batch) != want {
			t.Errorf("transaction %d: rows %q; want %q", i+1, sizes(batch), want)
		}
	}
}

func TestTheWriterEndsOnlyWhenNothingWaits(t *testing.T) {
	t.Parallel()
	w := queued(false, &op{urgency: urgent, rows: 1}, &op{urgency: bulk, rows: 2})
	w.closed = true
	for i, want := range []string{"1", "2", ""} {
		batch, more := w.take()
		if got := sizes(batch); got != want || more != (want != "") {
			t.Errorf("transaction %d: rows %q, more %v; want %q, %v", i+1, got, more, want, want != "")
		}
	}
	ran := false
	err := w.do(t.Context(), &op{urgency: results, rows: 1, run: func(*tx) error { ran = true; return nil }})
	if !errors.Is(err, ledger.ErrClosed) || ran || len(w.queues[results]) > 0 {
		t.Errorf("after the end: %v, ran %v, waiting %d; want errClosed, false, 0", err, ran, len(w.queues[results]))
	}
}

// An operation whose caller gave up while it waited is not run.
func TestWhoGivesUpWaitingWritesNothing(t *testing.T) {
	t.Parallel()
	w := queued(false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := &op{urgency: results, rows: 1}
	if err := w.do(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v; want context.Canceled", err)
	}
	if batch, _ := w.take(); len(batch) > 0 {
		t.Errorf("taken: %d operations; want 0", len(batch))
	}
}

// A neighbour failed, so that each runs alone; an operation whose own commit fails then is told so.
func TestACommitThatFailsAfterAnotherIsToldToItsOwn(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	boom, runs := errors.New("boom"), 0
	bad := &op{rows: 1, done: make(chan struct{}), run: func(*tx) error { return boom }}
	lost := &op{rows: 1, done: make(chan struct{}), run: func(t *tx) error {
		if runs++; runs == 1 {
			return nil
		}
		_, err := t.exec("ROLLBACK") // so that there is nothing to commit
		return err
	}}
	l.writer.commit([]*op{lost, bad}) // its goroutine waits: nobody else writes
	if !errors.Is(lost.err, campaign.ErrUnknownCommit) || !errors.Is(bad.err, boom) || runs != 2 {
		t.Errorf("answers %v and %v after %d runs; want ErrUnknownCommit, boom and 2 runs", lost.err, bad.err, runs)
	}
}
