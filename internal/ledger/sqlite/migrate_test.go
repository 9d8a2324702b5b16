package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

func TestANewerSchemaIsRefused(t *testing.T) {
	l := openTest(t, ledger.Options{})
	db, err := sql.Open("sqlite", l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
		if _, err := Open(t.Context(), l.Path(), o); !errors.Is(err, campaign.ErrNewer) {
			t.Errorf("%+v: %v; want ErrNewer", o, err)
		}
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
