package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// queued is a writer without a goroutine, with these operations in its queues.
func queued(passed bool, waiting ...*op) *writer {
	w := &writer{wake: make(chan struct{}, 1), passed: passed}
	for _, o := range waiting {
		w.queues[o.urgency] = append(w.queues[o.urgency], o)
	}
	return w
}

// sizes are the rows of the operations, in their order.
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
		want    []string // of each transaction, the rows of its operations
	}{
		"AFullTransaction": {false,
			[]*op{{urgency: results, rows: batchRows - 1}, {urgency: results, rows: 1}, {urgency: results, rows: 2}},
			[]string{"8191 1", "2"}},
		"OneRowTooMany":     {false, []*op{{urgency: results, rows: batchRows - 1}, {urgency: results, rows: 2}}, []string{"8191", "2"}},
		"OneThatIsTooLarge": {false, []*op{{urgency: results, rows: batchRows + 1}, {urgency: results, rows: 3}}, []string{"8193", "3"}},
		"UrgentOnesFirst": {false,
			[]*op{{urgency: events, rows: 3}, {urgency: results, rows: 2}, {urgency: urgent, rows: 1}}, []string{"1 2 3"}},
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

// An import lets one transaction of the other operations pass, and is part of the next.
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
		t.Errorf("after the end: %v, ran %v, waiting %d; want ErrClosed, false, 0", err, ran, len(w.queues[results]))
	}
}

// An operation does not run if its caller gave up while it waited.
func TestAnAbandonedOperationWritesNothing(t *testing.T) {
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

// When one operation of a transaction fails, each runs again alone. An operation whose own commit
// fails then gets that error.
func TestAFailedSecondCommitIsToldToItsOperation(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	boom, runs := errors.New("boom"), 0
	bad := &op{rows: 1, done: make(chan struct{}), run: func(*tx) error { return boom }}
	lost := &op{rows: 1, done: make(chan struct{}), run: func(t *tx) error {
		if runs++; runs == 1 {
			return nil
		}
		_, err := t.exec(sqlRollback) // so that there is nothing to commit
		return err
	}}
	l.writer.commit([]*op{lost, bad}) // the writer's own goroutine waits and does not write
	if !errors.Is(lost.err, campaign.ErrUnknownCommit) || !errors.Is(bad.err, boom) || runs != 2 {
		t.Errorf("answers %v and %v after %d runs; want ErrUnknownCommit, boom and 2 runs", lost.err, bad.err, runs)
	}
}

func TestAFailingOperationSpoilsNoOther(t *testing.T) {
	l := openTest(t, ledger.Options{})
	boom := errors.New("boom")
	insert := func(key int64, fail error) *op {
		return &op{done: make(chan struct{}), run: func(t *tx) error {
			if _, err := t.suppress(campaign.Suppression{Key: key, Scope: campaign.ScopeAll}); err != nil {
				return err
			}
			return fail
		}}
	}
	sqlError := &op{done: make(chan struct{}), run: func(t *tx) error {
		_, err := t.exec(`INSERT INTO ledger (one, id, opens, hash_key) VALUES (2, '', 0, x'')`)
		return err
	}}
	ok1, bad, ok2 := insert(1, nil), insert(2, boom), insert(3, nil)
	busy, resume := make(chan struct{}), make(chan struct{})
	go func() { // keep the writer busy, so that the four become one transaction
		_ = l.write(context.Background(), urgent, func(*tx) error { close(busy); <-resume; return nil })
	}()
	<-busy
	done := make(chan error, 4)
	for _, o := range []*op{ok1, bad, sqlError, ok2} {
		go func() { done <- l.submit(context.Background(), o) }()
	}
	for waiting := 0; waiting < 4; {
		l.writer.mu.Lock()
		waiting = len(l.writer.queues[urgent])
		l.writer.mu.Unlock()
		runtime.Gosched()
	}
	close(resume)
	for range 4 {
		<-done
	}
	if ok1.err != nil || ok2.err != nil || !errors.Is(bad.err, boom) || sqlError.err == nil {
		t.Errorf("answers %v, %v, %v, %v; want none, boom, another error and none", ok1.err, bad.err, sqlError.err, ok2.err)
	}
	var keys []int64
	for s, err := range l.Suppressions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, s.Key)
	}
	if fmt.Sprint(keys) != "[1 3]" {
		t.Errorf("stored %v; want [1 3]", keys)
	}
}

// When one operation of a transaction fails, each runs again. An operation gets the error of its
// second run.
func TestAnOperationIsToldOfItsLastRun(t *testing.T) {
	t.Parallel()
	d := newFaultyDriver(t)
	l := openThrough(t, d.name, ledger.Options{})
	boom, seen := errors.New("boom"), 0
	for n := 1; ; n++ {
		runs := 0
		good := &op{rows: 1, done: make(chan struct{}), run: func(*tx) error { return nil }}
		late := &op{rows: 1, done: make(chan struct{}), run: func(*tx) error {
			if runs++; runs == 1 {
				return boom
			}
			return nil
		}}
		d.fail(n)
		l.writer.commit([]*op{good, late}) // the writer's own goroutine waits and does not write
		failed := d.failure()
		d.fail(0)
		if failed == "" {
			if good.err != nil || late.err != nil || seen < 2 {
				t.Errorf("without a fault: got %v and %v after %d faults of BEGIN; want no error after 2 or more", good.err, late.err, seen)
			}
			return
		}
		if strings.Contains(failed, "BEGIN") {
			seen++
		}
		if errors.Is(late.err, boom) || good.err == nil && late.err == nil {
			t.Errorf("%q failed: got %v and %v; want one with %v, and none with boom", failed, good.err, late.err, errFault)
		}
	}
}
