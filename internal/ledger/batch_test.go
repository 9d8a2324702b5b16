package ledger

import (
	"slices"
	"testing"
)

// waitingOps puts operations into the queues of a writer that does not run, in the order in which they came.
func waitingOps(ops ...*op) *writer {
	w := &writer{wake: make(chan struct{}, 1)}
	for _, o := range ops {
		w.queues[o.urgency] = append(w.queues[o.urgency], o)
	}
	return w
}

func TestTheWriterTakesTheUrgentFirst(t *testing.T) {
	of := func(name string, u urgency, rows int) *op { return &op{crash: name, urgency: u, rows: rows} }
	abandoned := of("abandoned", urgent, 1)
	abandoned.state.Store(opAbandoned)
	for _, c := range []struct {
		name string
		ops  []*op
		want [][]string // of each transaction, until nothing waits
	}{
		{"nothing waits", nil, nil},
		{"by urgency, then in their order", []*op{of("event", events, 1), of("result", results, 1), of("intent", urgent, 1), of("lease", urgent, 1)},
			[][]string{{"intent", "lease", "result", "event"}}},
		{"as many rows as fit", []*op{of("a", urgent, batchRows-1), of("b", results, 1), of("c", events, 1)}, [][]string{{"a", "b"}, {"c"}}},
		{"one row too many waits", []*op{of("a", urgent, batchRows-1), of("b", urgent, 2), of("c", results, 1)}, [][]string{{"a", "c"}, {"b"}}},
		{"more than a transaction's rows go alone", []*op{of("a", results, batchRows+1), of("b", results, 1)}, [][]string{{"a"}, {"b"}}},
		{"a chunk is passed over once", []*op{of("chunk", bulk, 1), of("a", urgent, batchRows), of("b", urgent, batchRows-1), of("c", urgent, 1)},
			[][]string{{"a"}, {"b", "c"}, {"chunk"}}},
		{"one chunk a transaction", []*op{of("first", bulk, 1), of("second", bulk, 1)}, [][]string{{"first"}, {"second"}}},
		{"who gave up is left out", []*op{abandoned, of("a", urgent, 1)}, [][]string{{"a"}}},
	} {
		w := waitingOps(c.ops...)
		var got [][]string
		for {
			batch, more := w.take()
			if !more {
				t.Errorf("%s: the writer ends; want it to go on until it is closed", c.name)
			}
			if len(batch) == 0 {
				break
			}
			var names []string
			for _, o := range batch {
				names = append(names, o.crash)
				if o.state.Load() != opTaken {
					t.Errorf("%s: %s is in state %d, want %d", c.name, o.crash, o.state.Load(), opTaken)
				}
			}
			got = append(got, names)
		}
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: took %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAChunkWaitsForOneTransactionAtMost(t *testing.T) {
	w := waitingOps(&op{urgency: bulk, rows: 1}, &op{urgency: bulk, rows: 1})
	var got []int
	for range 4 {
		w.queues[urgent] = append(w.queues[urgent], &op{urgency: urgent, rows: 1})
		batch, _ := w.take()
		got = append(got, len(batch))
	}
	if want := []int{1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("with an intent each time %v operations are taken, want %v: every other time a chunk too", got, want)
	}
}

func TestAClosedWriterTakesWhatWaitsAndEnds(t *testing.T) {
	w := waitingOps(&op{rows: 1})
	w.closed = true
	for _, want := range []int{1, 0} {
		if batch, more := w.take(); len(batch) != want || more != (want > 0) {
			t.Errorf("took %d operations, more %v; want %d, %v", len(batch), more, want, want > 0)
		}
	}
}
