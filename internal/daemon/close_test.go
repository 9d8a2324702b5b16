package daemon

import (
	"errors"
	"fmt"
	"testing"
)

// Close ends everything that New has opened, the last one first, also after a failure.
func TestCloseEndsAllThatWasOpened(t *testing.T) {
	var got []int
	fault := errors.New("the disk is full")
	d := &Daemon{}
	for i := range 3 {
		d.closers = append(d.closers, func() error {
			got = append(got, i)
			if i == 2 {
				return fault
			}
			return nil
		})
	}
	if err := d.Close(); !errors.Is(err, fault) || fmt.Sprint(got) != "[2 1 0]" {
		t.Errorf("Close = %v after closing %v, want %v after [2 1 0]", err, got, fault)
	}
	if err := d.Close(); err != nil || len(got) != 3 {
		t.Errorf("a second Close = %v with %d calls in all, want nil and 3", err, len(got))
	}
}
