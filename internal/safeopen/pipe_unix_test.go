//go:build unix

package safeopen_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"campaignd/internal/safeopen"
)

func TestPipesAndDevicesAreRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, open := range map[string]func() (*os.File, error){
		pipe:         func() (*os.File, error) { return safeopen.Open(pipe) },
		"within":     func() (*os.File, error) { return safeopen.Within(dir, "pipe.yaml") },
		"/dev/null":  func() (*os.File, error) { return safeopen.Open("/dev/null") },
		"/dev, zero": func() (*os.File, error) { return safeopen.Within("/dev", "zero") },
	} {
		if _, err := open(); !errors.Is(err, safeopen.ErrNotRegular) {
			t.Errorf("%s: got %v, want %v", path, err, safeopen.ErrNotRegular)
		}
	}
}

// The name is a file and a pipe in turn, so that it can be a pipe between the question and the
// opening.
func TestAnExchangedFileIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	name, file, pipe := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("name: a"), 0o600), syscall.Mkfifo(pipe, 0o600), os.Link(pipe, name)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			next := filepath.Join(dir, "next")
			if err := errors.Join(os.Link([]string{file, pipe}[i%2], next), os.Rename(next, name)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 2000 {
		f, err := safeopen.Within(dir, "a.yaml")
		if err != nil {
			if !errors.Is(err, safeopen.ErrNotRegular) {
				t.Errorf("got %v, want the file or %v", err, safeopen.ErrNotRegular)
				break
			}
			continue
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			t.Errorf("got %v, %v, want a regular file", info.Mode(), err)
		}
		_ = f.Close()
	}
	close(done)
	wg.Wait()
}
