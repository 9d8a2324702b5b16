//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The lock's file has the id of the process with the lock, and nothing of an earlier one.
func TestALockNamesItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	if err := os.WriteFile(path, []byte("99999999999999999999 held it before\n"), 0o600); err != nil {
		t.Fatalf("writing: %v; want no error", err)
	}
	for range 2 { // a released lock can be taken again
		l, err := Take(path)
		if err != nil {
			t.Fatalf("locking: %v; want no error", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != fmt.Sprintln(os.Getpid()) {
			t.Errorf("the lock's file has %q, %v; want %d and a line feed", got, err, os.Getpid())
		}
		want := fmt.Sprintf("process %d holds %s", os.Getpid(), path)
		var held *HeldError
		if _, err := Take(path); !errors.As(err, &held) || err.Error() != want {
			t.Errorf("locking twice: %v; want a HeldError, %q", err, want)
		}
		if err := l.Release(); err != nil {
			t.Errorf("releasing: %v; want no error", err)
		}
	}
}

// A child has a copy of the open file between fork and exec.
func TestACopyOfTheFileKeepsNoReleasedLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	l, err := Take(path)
	if err != nil {
		t.Fatalf("locking: %v; want no error", err)
	}
	child, err := syscall.Dup(int(l.f.Fd()))
	if err != nil {
		t.Fatalf("copying: %v; want no error", err)
	}
	defer syscall.Close(child)
	if err := l.Release(); err != nil {
		t.Errorf("releasing: %v; want no error", err)
	}
	if l, err = Take(path); err != nil {
		t.Fatalf("locking again: %v; want no error", err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("releasing again: %v; want no error", err)
	}
}

// A process that cannot write its id does not get the lock.
func TestALockThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skipf("this system has no /dev/full: %v", err)
	}
	if l, err := Take("/dev/full"); err == nil || !strings.Contains(err.Error(), "lock /dev/full: ") {
		t.Errorf(`locking /dev/full: %v, %v; want an error with "lock /dev/full: "`, l, err)
	}
}

// The question whether a lock is held neither takes it nor makes its file, and a start at that
// instant succeeds.
func TestALockIsSeenWithoutTakingIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	if Held(path) {
		t.Error("a lock without a file: held, want free")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the question made the file, want none")
	}
	asking, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Close()
	for range 3 {
		if err := syscall.Flock(int(asking.Fd()), syscall.LOCK_SH); err != nil { // as Held does
			t.Fatal(err)
		}
		time.AfterFunc(2*takePause, func() { _ = syscall.Flock(int(asking.Fd()), syscall.LOCK_UN) })
		l, err := Take(path)
		if err != nil {
			t.Fatalf("locking: %v, want the lock", err)
		}
		if !Held(path) {
			t.Error("a lock that was taken: free, want held")
		}
		if err := l.Release(); err != nil {
			t.Errorf("releasing: %v; want no error", err)
		}
	}
	if Held(path) {
		t.Error("a lock that was released: held, want free")
	}
}
