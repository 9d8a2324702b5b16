//go:build !unix

package filelock

import (
	"errors"
	"os"
)

// open makes the file. Without flock, its existence is the lock.
func open(path string) (*os.File, error) {
	_ = os.Remove(path) // fails while another process holds it open
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return nil, held(path)
	}
	return f, err
}

// Held reports whether the lock's file exists. A process that was killed leaves it there.
func Held(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// Release ends the lock and removes its file.
func (l *Lock) Release() error { return errors.Join(l.f.Close(), os.Remove(l.f.Name())) }

// Holder returns the id of the process that has the lock, and "" when none has.
func Holder(path string) string { return heldBy(path) }
