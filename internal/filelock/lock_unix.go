//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// open takes an advisory lock (https://man7.org/linux/man-pages/man2/flock.2.html), which the
// kernel releases when the process dies.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, held(path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// Held reports whether a process holds the lock of the file at path. It reports true where that
// cannot be known.
func Held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return true
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) != nil
}

// Release ends the lock. The file stays: if it were removed, a third process could make and lock a
// new file of the same name while a second one holds the old file. Closing would not be enough: a
// child that another goroutine starts has a copy of the open file until it executes its program.
func (l *Lock) Release() error {
	return errors.Join(syscall.Flock(int(l.f.Fd()), syscall.LOCK_UN), l.f.Close())
}

// Holder returns the id of the process that has the lock, and "" when none has.
func Holder(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return heldBy(path)
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // as in Release
	return ""
}
