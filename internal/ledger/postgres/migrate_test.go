//go:build unix

package postgres

import (
	"errors"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

func TestReplicasThatMigrateAtOnceAgree(t *testing.T) {
	t.Parallel()
	dsn := server(t).Database(t)
	var opening sync.WaitGroup
	for range 4 {
		opening.Go(func() {
			l, err := Open(t.Context(), dsn, ledger.Options{Sender: true})
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	l := openAt(t, dsn, ledger.Options{})
	ledgertest.Load(t, l, 3)
}

// next returns the schema of a newer program: this program's schema and two more columns, under the
// given version.
func next(t *testing.T, version string) fs.FS {
	t.Helper()
	dir, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{version + "_next.sql": {Data: []byte("-- +goose Up\nALTER TABLE outcome ADD COLUMN more text;\n" +
		"ALTER TABLE segment ADD COLUMN more bigint NOT NULL DEFAULT 0;\n")}}
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := fs.ReadFile(dir, n)
		if err != nil {
			t.Fatal(err)
		}
		all[n] = &fstest.MapFile{Data: b}
	}
	return all
}

func TestASchemaOfTheNextGenerationIsRefused(t *testing.T) {
	t.Parallel()
	dsn := server(t).Database(t)
	if _, err := openMigrated(t.Context(), dsn, ledger.Options{ReadOnly: true}, next(t, "01000")); err == nil {
		t.Error("a reader opened a database without a schema, want an error")
	}
	young, err := openMigrated(t.Context(), dsn, ledger.Options{Sender: true}, next(t, "01000"))
	if err != nil {
		t.Fatalf("migrating: %v, want no error", err)
	}
	if err := young.Close(); err != nil {
		t.Error(err)
	}
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
		if _, err := Open(t.Context(), dsn, o); !errors.Is(err, campaign.ErrNewer) {
			t.Errorf("%+v: %v, want ErrNewer", o, err)
		}
	}
}

// older returns the address of a database of the test's own that has schema 2.
func older(t testing.TB) string {
	t.Helper()
	dsn := server(t).Database(t)
	dir, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	l, err := openMigrated(t.Context(), dsn, ledger.Options{}, ledgertest.OlderMigrations(t, dir))
	if err != nil {
		t.Fatalf("making the older schema: %v; want no error", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func TestALedgerOfTheFirstVersionGoesOn(t *testing.T) {
	t.Parallel()
	dsn := older(t)
	db := beside(t, dsn)
	exec := func(stmt string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), stmt); err != nil {
			t.Fatalf("%s: %v; want no error", stmt, err)
		}
	}
	ledgertest.RunUpgrade(t, exec, func(t *testing.T) campaign.Ledger {
		exec(`INSERT INTO run_event (no) SELECT no FROM run`)
		exec(`UPDATE segment SET taken = mark - lo`)
		return openAt(t, dsn, ledger.Options{Sender: true})
	})
}
