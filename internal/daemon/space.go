package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/ledger/sqlite"
)

// askSpace is how often a start on a full disk is tried again.
const askSpace = 2 * time.Second

// shortOfSpace is less than SQLite needs to open a ledger beside its file. A disk with less is
// full, whatever SQLite calls the error.
const shortOfSpace = 256 << 10

// Open opens the ledger, as its sender unless the role is intake, and makes client and limiter. The
// daemon takes no webhooks, and sends nothing yet. Open waits while the disk is full.
func Open(ctx context.Context, cfg *config.Config, o Options) (d *Daemon, err error) {
	err = withSpace(ctx, cfg, o, func() error {
		d, err = open(ctx, cfg, o)
		return err
	})
	return d, err
}

// withSpace calls start again and again while the disk of the ledger is full, as a process that
// runs waits for space: one line of the log when it begins to wait, and one at the end.
func withSpace(ctx context.Context, cfg *config.Config, o Options, start func() error) error {
	began := time.Now()
	for waited := false; ; waited = true {
		err := start()
		switch {
		case o.Log == nil:
		case err == nil && waited:
			o.Log.Warn("the disk has space again", "after", time.Since(began).Round(time.Second))
		case !waited && full(cfg, err):
			o.Log.Error("the disk is full: nothing is sent, and no webhooks are taken, until it has space", "err", err)
		}
		if !full(cfg, err) || !o.Patient && time.Since(began) >= ledgerWait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(askSpace):
		}
	}
}

// full reports whether err says that the disk of the ledger or of data_dir is full.
func full(cfg *config.Config, err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || sqlite.Full(err) {
		return true
	}
	if !sqlite.Failed(err) { // SQLite cannot make its files
		return false
	}
	free, err := config.FreeSpace(filepath.Dir(cfg.BesideLedger("")))
	return err == nil && free < shortOfSpace
}
