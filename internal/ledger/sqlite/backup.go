package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"campaignd/internal/ledger/sqlite/dbfile"
)

const (
	sqlVacuumInto = `VACUUM INTO ?`
	sqlMarkCopy   = `UPDATE ledger SET opens = -max(opens, 1)`
	sqlQuickCheck = `PRAGMA quick_check(1)`
)

// Backup writes the ledger, as it is at one moment, into a new file that only its owner may read.
// Senders go on meanwhile (https://www.sqlite.org/lang_vacuum.html#vacuuminto). The file is whole,
// checked and on the disk when Backup returns nil; with an error there is none. A file that exists
// is never overwritten: the error wraps fs.ErrExist.
func (l *Ledger) Backup(ctx context.Context, file string) (err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(backupFault(l.path, file, err), os.Remove(file))
		}
	}()
	from, err := sql.Open("sqlite", dbfile.DSN(l.path, "mode=rw"))
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := from.ExecContext(ctx, sqlVacuumInto, file); err != nil {
		return err
	}
	if err := mark(ctx, file); err != nil {
		return err
	}
	if err := check(ctx, file); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return dbfile.SyncFolder(filepath.Dir(file))
}

// backupFault says what an error of a backup means. Only the copy is written, so a full disk is the
// copy's, and sending goes on.
func backupFault(ledger, file string, err error) error {
	if Full(err) {
		return fmt.Errorf("back up to %s: its disk is full: name a file on another disk, or make room: %w", file, err)
	}
	return fmt.Errorf("back up to %s: %w", file, explain(ledger, err))
}

// mark makes a copy one that no sender opens before its quarantine (stamp).
func mark(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", dbfile.DSN(file, "mode=rw", dbfile.NoLog))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, sqlMarkCopy)
	return errors.Join(err, db.Close())
}

// check reads the whole file as SQLite does.
func check(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", dbfile.DSN(file, "mode=ro"))
	if err != nil {
		return err
	}
	defer db.Close()
	var said string
	if err := db.QueryRowContext(ctx, sqlQuickCheck).Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("the copy is damaged: %s", said)
	}
	return nil
}
