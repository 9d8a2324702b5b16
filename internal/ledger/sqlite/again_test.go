package sqlite

import (
	"errors"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// A neighbour failed, so that each runs again: what an operation is told is what became of its
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
		l.writer.commit([]*op{good, late}) // its goroutine waits: nobody else writes
		failed := d.said()
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
