//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
)

// The lock's file holds the id of the process that has the lock, and nothing of an earlier one.
func TestALockNamesItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	if err := os.WriteFile(path, []byte("99999999999999999999 held it before\n"), 0o600); err != nil {
		t.Fatalf("writing: %v; want no error", err)
	}
	for range 2 { // a released lock can be taken again
		l, err := lockFile(path)
		if err != nil {
			t.Fatalf("locking: %v; want no error", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != fmt.Sprintln(os.Getpid()) {
			t.Errorf("the lock's file has %q, %v; want %d and a line feed", got, err, os.Getpid())
		}
		want := fmt.Sprintf("process %d holds %s; stop it first", os.Getpid(), path)
		if _, err := lockFile(path); !errors.Is(err, campaign.ErrLocked) || !strings.Contains(err.Error(), want) {
			t.Errorf("locking twice: %v; want ErrLocked with %q", err, want)
		}
		if err := l.release(); err != nil {
			t.Errorf("releasing: %v; want no error", err)
		}
	}
}

// A process that cannot write its id does not hold the lock.
func TestALockThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skipf("this system has no /dev/full: %v", err)
	}
	if l, err := lockFile("/dev/full"); err == nil || !strings.Contains(err.Error(), "ledger lock /dev/full: ") {
		t.Errorf(`locking /dev/full: %v, %v; want an error with "ledger lock /dev/full: "`, l, err)
	}
}
