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

// fileLock is an advisory lock (flock). The kernel releases it when the process dies, in whatever
// way.
type fileLock struct{ f *os.File }

// lockFile takes the lock and writes this process's id into the file. The error is
// campaign.ErrLocked when another process holds the lock.
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
			return nil, fmt.Errorf("%w: process %s holds %s; stop it first, or use the commands that work beside it "+
				"(report, pause, resume)", campaign.ErrLocked, strings.TrimSpace(string(buf[:n])), path)
		}
		return nil, fmt.Errorf("ledger lock %s: %w", path, err)
	}
	// Only its holder writes into the file, so that the id is the holder's.
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("ledger lock %s: %w", path, err)
	}
	return &fileLock{f}, nil
}

// release releases the lock. The file stays: if it were removed, a third process could make and
// lock a new file of the same name while a second one holds the old file.
func (l *fileLock) release() error { return l.f.Close() }
