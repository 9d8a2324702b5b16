package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/operator"
)

// errNoBackup is for a ledger that its server's own tools back up.
var errNoBackup = errors.New("a PostgreSQL ledger is backed up by the tools of PostgreSQL, such as pg_basebackup or pg_dump " +
	"(docs/recovery.md, Backup and restore)")

// Backup writes a copy of an SQLite ledger to a new file, also beside a sender.
func Backup(ctx context.Context, cfg *config.Config, file string, log *slog.Logger) (err error) {
	l, err := OpenLedger(ctx, cfg, false, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	b, ok := l.(ledger.Copyable)
	if !ok {
		return errNoBackup
	}
	if err := b.Backup(ctx, file); err != nil {
		return err
	}
	// After it was done: a ledger whose disk is full can be backed up to another one.
	if err := (&operator.Session{Ledger: l}).Note(ctx, operator.LocalUser(), "backup", file, operator.Done); err != nil {
		log.Warn("the copy was made, and the log of actions does not name it", "file", file, "err", err)
	}
	return nil
}

// BackupTo writes a copy of an SQLite ledger to w, also beside a sender. The copy is made and
// checked in the temporary folder first, so w gets nothing of one that failed.
func BackupTo(ctx context.Context, cfg *config.Config, w io.Writer, log *slog.Logger) (err error) {
	dir, err := os.MkdirTemp("", "campaignd-backup-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "campaignd.db")
	if err := Backup(ctx, cfg, file, log); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// CanBackUp returns an error for a ledger that Backup cannot copy.
func CanBackUp(cfg *config.Config) error {
	if cfg.SharedLedger() {
		return errNoBackup
	}
	return nil
}
