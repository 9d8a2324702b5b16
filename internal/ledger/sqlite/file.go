package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"campaignd/internal/ledger"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// exists reports whether the path names anything, of whatever kind.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// create makes the file if it does not exist, readable by its owner only: it contains phone
// numbers. SQLite gives the files beside it the same mode. A file that exists keeps its mode.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger %s: it cannot be made: the folder must be writable by this user (%w)", path, err)
	}
	return f.Close()
}

// noLog is an option of dsn: the file has no write-ahead log, and no files beside it.
const noLog = "_pragma=journal_mode(DELETE)"

// dsn names a connection to the file. Every connection uses the write-ahead log and keeps temporary
// tables in memory. It uses synchronous=FULL, because NORMAL may lose a commit at a power cut, and
// a lost intent would send twice. Its cache is 1 MiB: a larger one is no faster, because the kernel
// caches the file too, and every connection fills its own.
func dsn(path string, more ...string) string {
	q := []string{
		"_pragma=busy_timeout(5000)",
		"_pragma=page_size(4096)",
		"_pragma=journal_mode(WAL)",
		"_pragma=synchronous(FULL)",
		"_pragma=cache_size(-1024)",
		"_pragma=temp_store(MEMORY)",
		"_pragma=wal_autocheckpoint(0)", // the checkpointer does it, and the writer does not wait
	}
	for _, m := range more {
		if m == "mode=ro" || m == noLog { // setting the others would write
			q = q[:1]
		}
	}
	u := url.URL{Scheme: "file", Opaque: escapePath(path), RawQuery: strings.Join(append(q, more...), "&")}
	return u.String()
}

// escapePath escapes the characters that have a meaning in an SQLite URI.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
}

// checkFile refuses a path for which SQLite would return an unreadable error, or none.
func checkFile(path string, o ledger.Options) error {
	if path == "" {
		return errors.New("ledger: the path of the SQLite file is empty")
	}
	dir := filepath.Dir(path)
	d, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("ledger %s: the folder %s does not exist: create it, or set `ledger` to another path", path, dir)
	case err != nil:
		return fmt.Errorf("ledger %s: %w", path, err)
	case !d.IsDir():
		return fmt.Errorf("ledger %s: %s is no folder", path, dir)
	}
	switch f, err := os.Stat(path); {
	case err != nil: // there is none yet, or opening it returns the better error
	case f.IsDir():
		return fmt.Errorf("ledger %s is a folder: name a file in it, for example %s", path, filepath.Join(path, "campaignd.db"))
	case linksOf(f) > 1 && !o.Copy && !o.ReadOnly:
		// https://www.sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
		return fmt.Errorf("ledger %s has %d names (hard links), and SQLite keeps another lock and another log for each: "+
			"remove the others (`find FOLDER -samefile %[1]s` lists them)", path, linksOf(f))
	}
	if o.ReadOnly && !exists(path) {
		return fmt.Errorf("ledger %s does not exist", path)
	}
	if kind := networkFS(dir); kind != "" {
		return fmt.Errorf("ledger %s: %s is on %s, where SQLite's locks do not hold: use a local disk, or PostgreSQL", path, dir, kind)
	}
	return nil
}

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
		hint = "the disk is full: nothing more can be recorded, so nothing more is sent"
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

// takeCompanion moves the companion beside the file. An earlier version named it by the path that
// it was given, even if that was a link.
func takeCompanion(given, path string) {
	if given != path && !exists(stampPath(path)) {
		_ = os.Rename(stampPath(given), stampPath(path)) // without one the ledger counts as copied
	}
}

// Unwritable returns since when each write to the file has failed, and the error of the last one;
// nil when the last write succeeded.
func (l *Ledger) Unwritable() (since time.Time, err error) { return l.outage.Since() }
