package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"campaignd/campaign"
)

// explain adds to an error of SQLite what it means for this file and what the operator can do.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	var hint string
	switch se.Code() & 0xff {
	case sqlitelib.SQLITE_NOTADB:
		hint = "it is not a campaignd ledger (not an SQLite file): name another path"
	case sqlitelib.SQLITE_CORRUPT:
		hint = "the file is damaged: restore a backup"
	case sqlitelib.SQLITE_READONLY:
		hint = "the file or its disk cannot be written to: check the permissions of the file and its folder"
	case sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM:
		hint = "it cannot be opened: the folder must be writable by this user"
	case sqlitelib.SQLITE_FULL:
		return fmt.Errorf("ledger %s: %w: nothing more can be recorded, so nothing more is sent: %w", path, campaign.ErrFull, err)
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		hint = "another program holds it for too long"
	case sqlitelib.SQLITE_IOERR:
		hint = "its disk fails"
	default:
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	return fmt.Errorf("ledger %s: %s: %w", path, hint, err)
}

// takesNoWrites reports whether err is that of a disk that is full or fails, or of a file that
// became read-only or is gone.
func takesNoWrites(err error) bool {
	return errors.Is(err, errGone) || coded(err, sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_READONLY)
}

// Full reports whether err is SQLite's error of a full disk.
func Full(err error) bool { return coded(err, sqlitelib.SQLITE_FULL) }

// Failed reports whether err says that a file could not be made, read or written, for whatever
// reason.
func Failed(err error) bool {
	return coded(err, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_CANTOPEN)
}

// coded reports whether err is an error of SQLite with one of the primary codes.
func coded(err error, codes ...int) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && slices.Contains(codes, se.Code()&0xff)
}

// Unwritable returns since when each write to the file has failed, and the error of the last one;
// nil when the last write succeeded.
func (l *Ledger) Unwritable() (since time.Time, err error) { return l.outage.Since() }
