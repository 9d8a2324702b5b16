package sqlite

import (
	"context"
	"fmt"

	"campaignd/internal/ledger/sqlite/dbfile"
)

// Backup implements ledger.Copyable (dbfile.Backup). Senders go on meanwhile.
func (l *Ledger) Backup(ctx context.Context, file string) error {
	if err := dbfile.Backup(ctx, l.path, file); err != nil {
		return backupFault(l.path, file, err)
	}
	return nil
}

// backupFault says what an error of a backup means. Only the copy is written, so a full disk is the
// copy's, and sending goes on.
func backupFault(ledger, file string, err error) error {
	if Full(err) {
		return fmt.Errorf("back up to %s: its disk is full: name a file on another disk, or make room: %w", file, err)
	}
	return fmt.Errorf("back up to %s: %w", file, explain(ledger, err))
}
