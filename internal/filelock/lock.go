// Package filelock locks a file for the life of a process. internal/ledger/sqlite locks its ledger
// with it, internal/wirelog its folder. It promises that one process at a time has the lock, and
// that the lock is free again when that process has ended, however it ended.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// HeldError names the process that has a lock.
type HeldError struct {
	Path string
	By   string // the process's id
}

func (e *HeldError) Error() string { return fmt.Sprintf("process %s holds %s", e.By, e.Path) }

// Lock is a lock of this process.
type Lock struct{ f *os.File }

// Held locks the file for microseconds. Take asks again so often, with pauses, before it believes
// that another process has the lock.
const (
	takeTries = 20
	takePause = 5 * time.Millisecond
)

// Take locks the file at path, which it makes if needed, and writes this process's id into it. The
// error is *HeldError if another process, or this one, holds the lock. The caller ends it with
// Release.
func Take(path string) (*Lock, error) {
	f, err := open(path)
	for n := 1; n < takeTries && errors.As(err, new(*HeldError)); n++ {
		time.Sleep(takePause)
		f, err = open(path)
	}
	if err != nil {
		return nil, err
	}
	// Only its holder writes into the file, so that the id is the holder's.
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// held is the error of a lock that another process holds.
func held(path string) error {
	return &HeldError{Path: path, By: heldBy(path)}
}

// heldBy reads the id that the holder of a lock wrote.
func heldBy(path string) string {
	pid, _ := os.ReadFile(path)
	return strings.TrimSpace(string(pid[:min(len(pid), 32)]))
}
