package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	sqlVacuumInto = `VACUUM INTO ?`
	sqlMarkCopy   = `UPDATE ledger SET opens = -max(opens, 1)`
	sqlQuickCheck = `PRAGMA quick_check(1)`
)

// Backup writes the ledger at path, as it is at one moment, into a new file that only its owner may
// read (https://www.sqlite.org/lang_vacuum.html#vacuuminto). No sender opens the copy before its
// quarantine. The file is whole, checked and on the disk when Backup returns nil; with an error
// there is none. A file that exists is never overwritten: the error wraps fs.ErrExist.
func Backup(ctx context.Context, path, file string) (err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	from, err := sql.Open("sqlite", DSN(path, "mode=rw"))
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
	if err := Check(ctx, file); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(file))
}

// mark makes a copy one that no sender opens before its quarantine (Stamp).
func mark(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", DSN(file, "mode=rw", NoLog))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, sqlMarkCopy)
	return errors.Join(err, db.Close())
}

// Check reads the whole file as SQLite does.
func Check(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", DSN(file, "mode=ro"))
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

// Copy copies a file into a new one that only its owner may read.
func Copy(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
