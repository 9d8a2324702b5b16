package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"modernc.org/sqlite"
)

// The errors are those of SQLite itself.
func TestAnErrorOfSQLiteSaysWhatToDo(t *testing.T) {
	t.Parallel()
	type maker func(ctx context.Context, c *sql.Conn, path string) error
	exec := func(queries ...string) maker {
		return func(ctx context.Context, c *sql.Conn, _ string) (err error) {
			for _, q := range queries {
				if _, err = c.ExecContext(ctx, q); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		fail maker
		want string
	}{
		"NotADatabase": {func(ctx context.Context, _ *sql.Conn, path string) error {
			if err := os.WriteFile(path+".txt", bytes.Repeat([]byte("notes "), 1000), 0o600); err != nil {
				return err
			}
			return execAt(ctx, path+".txt", "SELECT * FROM x")
		}, "it is not a campaignd ledger (not an SQLite file): name another path"},
		"Corrupt": {func(ctx context.Context, c *sql.Conn, path string) error {
			if err := exec("CREATE TABLE x (a)")(ctx, c, path); err != nil {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i := 100; i < len(b); i++ { // everything behind the file's header
				b[i] = 0x5a
			}
			if err := os.WriteFile(path+".copy", b, 0o600); err != nil {
				return err
			}
			return execAt(ctx, path+".copy", "SELECT * FROM x")
		}, "the file is damaged: restore a backup"},
		"ReadOnly": {exec("PRAGMA query_only = 1", "CREATE TABLE x (a)"),
			"the file or its disk cannot be written to: check the permissions of the file and its folder"},
		"CannotOpen": {func(ctx context.Context, _ *sql.Conn, path string) error {
			return execAt(ctx, filepath.Join(path, "none.db"), "SELECT 1 FROM x")
		}, "it cannot be opened: the folder must be writable by this user"},
		"Full": {exec("PRAGMA max_page_count = 2", "CREATE TABLE x (a)", "INSERT INTO x VALUES (zeroblob(100000))"),
			"the disk is full: nothing more can be recorded, so nothing more is sent"},
		"Busy": {func(ctx context.Context, c *sql.Conn, path string) error {
			if err := exec("CREATE TABLE x (a)", "BEGIN EXCLUSIVE")(ctx, c, path); err != nil {
				return err
			}
			return execAt(ctx, path, "INSERT INTO x VALUES (1)")
		}, "another program holds it for too long"},
		"Another": {exec("SELECT nonsense"), "no such column"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatalf("SQLite: %v; want no error", err)
			}
			defer db.Close()
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatalf("connecting: %v; want no error", err)
			}
			defer conn.Close()
			said := c.fail(t.Context(), conn, path)
			if e := (*sqlite.Error)(nil); !errors.As(said, &e) {
				t.Fatalf("provoked: %v; want an error of SQLite", said)
			}
			err = explain("the.db", said)
			first := "ledger the.db: " + c.want + ": "
			if name == "Another" {
				first = "ledger the.db: SQL logic error: " + c.want
			}
			if !strings.HasPrefix(err.Error(), first) || !errors.Is(err, said) {
				t.Errorf("said %q; want SQLite's error after %q", err, first)
			}
		})
	}
}

// execAt runs one statement on a connection of its own.
func execAt(ctx context.Context, path, q string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, q)
	return err
}

func TestALedgerWithoutAPathIsRefused(t *testing.T) {
	t.Parallel()
	const want = "the path of the SQLite file is empty"
	if l, err := Open(t.Context(), "", ledger.Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("opened %v: %v; want an error with %q", l, err, want)
	}
}

// With a damaged key the ledger would look for message ids under other hashes, and webhooks would
// find no delivery.
func TestALedgerOfADamagedKeyIsNotOpened(t *testing.T) {
	t.Parallel()
	const want = "its message hash key is damaged: restore a backup"
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
		l := openTest(t, ledger.Options{})
		if _, err := beside(t, l.Path()).ExecContext(t.Context(), `UPDATE ledger SET hash_key = substr(hash_key, 1, 15)`); err != nil {
			t.Fatalf("cutting the key: %v; want no error", err)
		}
		broken, err := Open(t.Context(), l.Path(), o)
		if err == nil {
			broken.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opened with %+v: %v; want an error with %q", o, err, want)
		}
	}
}

// A command that reads waits for no writer, however long that writes.
func TestAReaderOpensALedgerThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	l, err := Open(t.Context(), path, ledger.Options{})
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatalf("made: %v; want no error", err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatalf("SQLite: %v; want no error", err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatalf("locked: %v; want no error", err)
	}
	defer conn.Close()
	l, err = Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatalf("opened: %v; want no error", err)
	}
	if runs, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 0 {
		t.Errorf("read: %d runs, %v; want none and no error", len(runs), err)
	}
	_ = l.Close() // its last commit may wait for the writer in vain
}
