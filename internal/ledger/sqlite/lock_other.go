//go:build !unix

package sqlite

import (
	"fmt"
	"os"
	"strconv"

	"campaignd/campaign"
)

// fileLock is a file that only this process has open for writing.
type fileLock struct {
	f    *os.File
	path string
}

// lockFile makes the lock file. Without flock, its existence is the lock. The error is
// campaign.ErrLocked when another process holds it.
func lockFile(path string) (*fileLock, error) {
	_ = os.Remove(path) // fails while another process holds it open
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		pid, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%w: process %s holds %s; stop it first", campaign.ErrLocked, pid, path)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger lock: %w: the ledger's folder must be writable by this user, or set `ledger` to another path", err)
	}
	if _, err := f.WriteString(strconv.Itoa(os.Getpid())); err != nil {
		f.Close()
		return nil, fmt.Errorf("ledger lock: %w", err)
	}
	return &fileLock{f, path}, nil
}

// release removes the lock file.
func (l *fileLock) release() error {
	err := l.f.Close()
	_ = os.Remove(l.path)
	return err
}
