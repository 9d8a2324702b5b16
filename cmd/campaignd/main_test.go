package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A terminal that is closed asks for an ordered end, except under nohup. The shell says so a
// second time, which does not end the process at once.
func TestAClosedTerminalEndsInOrder(t *testing.T) {
	defer signal.Reset(syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 9), syscall.SIGHUP) // the tests themselves may be under nohup
	hangUp := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	ctx := untilSignal(t.Context())
	hangUp()
	select {
	case <-ctx.Done():
	case <-time.After(longWait):
		t.Fatalf("a closed terminal: got no end within %v, want one", longWait)
	}
	for !signal.Ignored(syscall.SIGHUP) {
		time.Sleep(time.Millisecond)
	}
	hangUp() // the test goes on

	ctx, stop := context.WithCancel(t.Context()) // SIGHUP is ignored now, as under nohup
	defer stop()
	under := untilSignal(ctx)
	hangUp()
	if !signal.Ignored(syscall.SIGHUP) || under.Err() != nil {
		t.Errorf("under nohup: got %v, and SIGHUP ignored: %t; want no end, and true", under.Err(), signal.Ignored(syscall.SIGHUP))
	}
}
