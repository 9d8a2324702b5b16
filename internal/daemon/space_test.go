package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// fullError returns SQLite's own error of a ledger that has no room to be opened.
func fullError(t *testing.T) error {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "full.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "PRAGMA max_page_count = 2; CREATE TABLE x (a)"); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO x VALUES (zeroblob(100000))")
	return fmt.Errorf("ledger: %w", err)
}

// A start on a full disk waits as a process that runs does, and says so once. `run` waits a minute.
func TestAStartOnAFullDiskWaits(t *testing.T) {
	noSpace := error(&fs.PathError{Op: "write", Path: "x.db.stamp.next", Err: syscall.ENOSPC})
	other := errors.New("another fault")
	for name, c := range map[string]struct {
		patient  bool
		fails    int // with err, then the start succeeds
		err      error
		want     error
		attempts int
		lines    int
	}{
		"No fault":                     {false, 0, nil, nil, 1, 0},
		"Serve, SQLite is full":        {true, 100, fullError(t), nil, 101, 2},
		"Serve, no space for a file":   {true, 3, noSpace, nil, 4, 2},
		"Run, for less than a minute":  {false, 20, noSpace, nil, 21, 2},
		"Run, for more than a minute":  {false, 100, noSpace, noSpace, 31, 1},
		"Serve, over its quota":        {true, 1, syscall.EDQUOT, nil, 2, 2},
		"Serve, another fault":         {true, 100, other, other, 1, 0},
		"Serve, a disk that has space": {true, 100, ledger.ErrRestored, ledger.ErrRestored, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				cfg := &config.Config{Ledger: "sqlite:" + filepath.Join(t.TempDir(), "x.db")}
				attempts := 0
				err := withSpace(t.Context(), cfg, Options{Log: slog.New(slog.NewTextHandler(&said, nil)), Patient: c.patient}, func() error {
					if attempts++; attempts <= c.fails {
						return c.err
					}
					return nil
				})
				if !errors.Is(err, c.want) || attempts != c.attempts {
					t.Errorf("started %d times, %v; want %d times, %v", attempts, err, c.attempts, c.want)
				}
				if got := strings.Count(said.String(), "\n"); got != c.lines {
					t.Errorf("the log has %d lines; want %d:\n%s", got, c.lines, said.String())
				}
			})
		})
	}
	t.Run("Until it is stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			cfg, began := &config.Config{Ledger: "sqlite:x.db"}, time.Now()
			err := withSpace(ctx, cfg, Options{Patient: true}, func() error { return noSpace })
			if !errors.Is(err, syscall.ENOSPC) || time.Since(began) != time.Hour {
				t.Errorf("ended after %s with %v; want an hour, %v", time.Since(began), err, noSpace)
			}
		})
	})
}

// An error on a disk with space is not one of a full disk.
func TestAFailingDiskIsNotCalledFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "none.db")+"?mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "SELECT 1 FROM x")
	if cfg := (&config.Config{Ledger: "sqlite:" + filepath.Join(dir, "none.db")}); !sqlite.Failed(err) || full(cfg, err) {
		t.Errorf("%v: failed %v, full %v; want true and false", err, sqlite.Failed(err), full(cfg, err))
	}
}
