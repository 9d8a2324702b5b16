//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"campaignd/campaign"
)

// fileLock is an advisory lock (flock) held for life. The kernel drops it when the
// process dies, however it dies.
type fileLock struct{ f *os.File }

// lockFile takes the lock and writes this process's id into it. campaign.ErrLocked
// when another holds it.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger lock: %w: the ledger's folder must be writable by this user, or set `ledger` to another path", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			buf := make([]byte, 32)
			n, _ := f.ReadAt(buf, 0)
			return nil, fmt.Errorf("%w: process %s holds %s; stop it first, or use the commands that work beside it (report, pause, resume)",
				campaign.ErrLocked, strings.TrimSpace(string(buf[:n])), path)
		}
		return nil, fmt.Errorf("ledger lock %s: %w", path, err)
	}
	// Only after the lock is held, so that the id is its holder's.
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("ledger lock %s: %w", path, err)
	}
	return &fileLock{f}, nil
}

// release gives the lock back. The file stays: removing it would let a third process
// lock a name that a second one still holds.
func (l *fileLock) release() error { return l.f.Close() }
