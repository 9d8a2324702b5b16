package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/dbfile"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// notWritable reports whether the error says that this user may not write the file or its folder.
func notWritable(err error) bool {
	if errors.Is(err, fs.ErrPermission) {
		return true
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return false
	}
	switch se.Code() & 0xff {
	case sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM:
		return true
	}
	return false
}

// openUnwritable opens a ledger that this user may only read. Beside a sender SQLite can read the
// file itself, because the shared files of its write-ahead log exist
// (https://www.sqlite.org/wal.html#read_only_databases). Without one nothing changes the file, so a
// copy of it and of its log is whole.
func openUnwritable(ctx context.Context, path string, o ledger.Options) (*Ledger, error) {
	o, err := o.Check()
	if err != nil {
		return nil, err
	}
	o.Copy, o.ReadOnly = false, true
	if l, err := openWith(ctx, "sqlite", path, o); err == nil {
		return l, nil
	}
	folder, err := os.MkdirTemp("", "campaignd-copy-")
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	o.ReadOnly = false // the copy may be brought up to this program's schema
	copied := filepath.Join(folder, filepath.Base(path))
	l, err := openCopy(ctx, path, copied, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %s may only be read here, and a copy of it cannot be: %w", path, err), os.RemoveAll(folder))
	}
	l.copied, l.original = folder, path
	o.Log.Warn("the ledger may not be written here: a copy of it is read, as it was just now", "ledger", path)
	return l, nil
}

func openCopy(ctx context.Context, path, copied string, o ledger.Options) (*Ledger, error) {
	for _, suffix := range []string{"", "-wal"} {
		err := dbfile.Copy(copied+suffix, path+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return openWith(ctx, "sqlite", copied, o)
}
