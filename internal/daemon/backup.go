package daemon

import (
	"context"
	"errors"
	"log/slog"
)

// errNoBackup is for a ledger that its server's own tools back up.
var errNoBackup = errors.New("a PostgreSQL ledger is backed up by the tools of PostgreSQL, such as pg_basebackup or pg_dump " +
	"(docs/operations.md, Backup and restore)")

// Backup writes a copy of an SQLite ledger to a new file, also beside a sender.
func Backup(ctx context.Context, cfg *Config, file string, log *slog.Logger) (err error) {
	l, err := OpenLedger(ctx, cfg, false, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	b, ok := l.(interface {
		Backup(ctx context.Context, file string) error
	})
	if !ok {
		return errNoBackup
	}
	return b.Backup(ctx, file)
}

// CanBackUp returns an error for a ledger that Backup cannot copy.
func (c *Config) CanBackUp() error {
	if c.sharedLedger() {
		return errNoBackup
	}
	return nil
}
