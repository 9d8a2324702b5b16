package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"campaignd/internal/ledger"
)

// Exists reports whether the path names anything, of whatever kind.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Create makes the file if it does not exist, readable by its owner only: it contains phone
// numbers. SQLite gives the files beside it the same mode. A file that exists keeps its mode.
func Create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger %s: it cannot be made: the folder must be writable by this user (%w)", path, err)
	}
	return f.Close()
}

// NoLog is an option of DSN: the file has no write-ahead log, and no files beside it.
const NoLog = "_pragma=journal_mode(DELETE)"

// DSN names a connection to the file. Every connection uses the write-ahead log and keeps temporary
// tables in memory. It uses synchronous=FULL, because NORMAL may lose a commit at a power cut, and
// a lost intent would send twice. Its cache is 1 MiB: a larger one is no faster, because the kernel
// caches the file too, and every connection fills its own.
func DSN(path string, more ...string) string {
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
		if m == "mode=ro" || m == NoLog { // setting the others would write
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

// CheckFile refuses a path for which SQLite would return an unreadable error, or none.
func CheckFile(path string, o ledger.Options) error {
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
	if o.ReadOnly && !Exists(path) {
		return fmt.Errorf("ledger %s does not exist", path)
	}
	if kind := networkFS(dir); kind != "" {
		return fmt.Errorf("ledger %s: %s is on %s, where SQLite's locks do not hold: use a local disk, or PostgreSQL", path, dir, kind)
	}
	return nil
}

// TakeCompanion moves the companion beside the file. An earlier version named it by the path that
// it was given, even if that was a link.
func TakeCompanion(given, path string) {
	if given != path && !Exists(StampPath(path)) {
		_ = os.Rename(StampPath(given), StampPath(path)) // without one the ledger counts as copied
	}
}
