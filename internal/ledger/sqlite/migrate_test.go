package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"

	"github.com/pressly/goose/v3"
)

func TestASchemaOfTheNextGenerationIsRefused(t *testing.T) {
	l := openTest(t, ledger.Options{})
	newerSchema(t, l.Path(), 1000)
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
		if _, err := Open(t.Context(), l.Path(), o); !errors.Is(err, campaign.ErrNewer) {
			t.Errorf("%+v: %v; want ErrNewer", o, err)
		}
	}
}

// The way back after an upgrade: a program goes on with a newer schema of its generation.
func TestAnOlderProgramGoesOnWithANewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "campaignd.db")
	for _, newer := range []bool{false, true} {
		if newer {
			newerSchema(t, path, 999)
		}
		for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
			l, err := Open(t.Context(), path, o)
			if err != nil {
				t.Fatalf("%+v: %v; want no error", o, err)
			}
			if o.Sender {
				ledgertest.Load(t, l, 3)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// newerSchema makes the schema of a ledger one of a newer program.
func newerSchema(t *testing.T, path string, version int) {
	t.Helper()
	db := beside(t, path)
	for _, stmt := range []string{
		fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)`, version),
		`ALTER TABLE outcome ADD COLUMN more TEXT`, `ALTER TABLE segment ADD COLUMN more INTEGER NOT NULL DEFAULT 0`,
	} {
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatalf("%s: %v; want no error", stmt, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAMigrationTakenBackIsNotCounted(t *testing.T) {
	l := openTest(t, ledger.Options{})
	db := beside(t, l.Path())
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 0)`); err != nil {
		t.Fatalf("writing the version: %v; want no error", err)
	}
	reader, err := Open(t.Context(), l.Path(), ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("opened for reading: %v; want no error", err)
	}
	if err := reader.Close(); err != nil {
		t.Errorf("closing: %v; want no error", err)
	}
}

// Processes that meet at a file which does not exist yet all get the ledger: a `why` beside the
// first `run` fails neither.
func TestAFileThatManyOpenFirstIsMadeOnce(t *testing.T) {
	t.Parallel()
	for range 2 {
		path := filepath.Join(t.TempDir(), "campaignd.db")
		errs := make(chan error)
		const processes = 6
		for i := range processes {
			go func() {
				l, err := Open(t.Context(), path, ledger.Options{Sender: i == 0})
				if err == nil {
					err = l.Close()
				}
				errs <- err
			}()
		}
		for range processes {
			if err := <-errs; err != nil {
				t.Errorf("Open beside others = %v, want nil", err)
			}
		}
	}
}

// older makes a ledger of schema 2 and returns a connection to it.
func older(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dbfile.DSN(path, "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, ledgertest.OlderMigrations(t, dir), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatalf("making the older schema: %v; want no error", err)
	}
	return db
}

func TestALedgerOfTheFirstVersionGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "older.db")
	db := older(t, path)
	ledgertest.RunUpgrade(t, func(stmt string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatalf("%s: %v; want no error", stmt, err)
		}
	}, func(t *testing.T) campaign.Ledger {
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatalf("opening: %v; want no error", err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	})
}
