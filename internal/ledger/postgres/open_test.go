//go:build unix

package postgres

import (
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// A statement that fails while a ledger is opened leaves the ledger unchanged, and the next opening
// does all of the work.
func TestPostgresOpensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       ledger.Options
		before  string // a statement
		changes bool
	}{
		"Migrate":  {ledger.Options{Sender: true}, ``, true},
		"Identify": {ledger.Options{Sender: true}, `DELETE FROM ledger`, true},
		"ReadOnly": {ledger.Options{ReadOnly: true}, ``, false},
		"Restored": {ledger.Options{Sender: true, AcceptRestored: true}, `UPDATE ledger SET system = system - 1`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := newFaultyWire(t)
			schema := migrated
			if name == "Migrate" {
				schema = older
			}
			url := schema(t)
			beside := beside(t, url)
			if _, err := beside.Exec(t.Context(), c.before); err != nil {
				t.Fatalf("%s: %v; want no error", c.before, err)
			}
			before := tablesOf(t, beside)
			for n := 1; n < 200; n++ {
				wire.fail(n)
				l, err := Open(t.Context(), wire.through(url), c.o)
				failed := wire.said()
				wire.fail(0)
				if err == nil {
					if err := l.Close(); err != nil {
						t.Fatalf("closing: %v; want no error", err)
					}
				}
				if failed == "" {
					if err != nil || n == 1 {
						t.Errorf("opened after %d faults with %v; want some faults, and no error then", n-1, err)
					}
					break
				}
				if !isFault(err) {
					t.Errorf("%q failed: opened with %v; want its error", failed, err)
				}
				if name == "Migrate" {
					var whole bool
					if err := beside.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_class WHERE relname IN ('first_receipt', 'first_receipt_at'))
						= 2 * (SELECT count(*) FROM goose_db_version WHERE version_id = 32)`).Scan(&whole); err != nil || !whole {
						t.Fatalf("%q failed, and the migration is whole or absent: %v, %v; want true", failed, whole, err)
					}
				} else if d := cmp.Diff(before, tablesOf(t, beside)); d != "" {
					t.Fatalf("%q failed, and the ledger changed, want it unchanged (-before +after):\n%s", failed, d)
				}
			}
			if changed := tablesOf(t, beside) != before; changed != c.changes {
				t.Errorf("opening changed the ledger: %v; want %v", changed, c.changes)
			}
		})
	}
}

func TestWhatPostgresRefusesIsSaidInALine(t *testing.T) {
	s := server(t)
	foreign, closed := s.Database(t), s.Database(t)
	foreignTables(t, foreign)
	openAt(t, closed, ledger.Options{})
	if err := s.Exec("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dsn, want string }{
		{s.URL("nothing"), "createdb"},
		{"postgres://u:secret@127.0.0.1:1/x?connect_timeout=1", "127.0.0.1:1/x: nothing answers there"},
		{"postgres://u:secret@127.0.0.1:1/x?sslmode=require", "nothing answers there"},
		{"postgres://u:secret@h/x?sslmode=sometimes", "sslmode"},
		{"postgres://postgres@" + s.Addr + "/postgres?sslmode=require", "sslmode=disable goes without TLS"},
		{"postgres://postgres@" + s.Addr + "/postgres?sslmod=disable", "it does not know a parameter of the address"},
		{foreign, "another program's tables"},
		{strings.Replace(closed, "postgres@", "stranger@", 1), "the role lacks a right"},
		{"postgres://u:an@d/secret@127.0.0.1:1/x", "write them as %40, %2F"},
		{"postgres://u:an?d&secret@127.0.0.1:1/x", "write them as %40, %2F"},
		{"postgres://127.0.0.1:1/x?user=u&password=secret&sslmode=sometimes", "sslmode"},
	} {
		l, err := Open(t.Context(), c.dsn, ledger.Options{})
		if err == nil {
			l.Close()
			t.Errorf("%s was opened, want an error", c.dsn)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want a line with %q", c.dsn, err, c.want)
		}
		for _, once := range []string{"refused", "permission denied"} { // also when the attempts with and without TLS have the same error
			if n := strings.Count(err.Error(), once); n > 1 {
				t.Errorf("%s: said %d times: %v; want at most 1", c.dsn, n, err)
			}
		}
	}
}

// foreignTables puts another program's table into a database.
func foreignTables(t *testing.T, dsn string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "CREATE TABLE run (lap int)"); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAReaderWritesNothing(t *testing.T) {
	dsn := migrated(t)
	l := openAt(t, dsn, ledger.Options{})
	r := ledgertest.Load(t, l, 5)
	reader := openAt(t, dsn, ledger.Options{ReadOnly: true})
	if got, err := reader.Run(t.Context(), r.No); err != nil || got.Rows != 5 {
		t.Errorf("got %+v %v; want no error, Rows 5", got, err)
	}
	if _, err := reader.SetWanted(t.Context(), r.No, campaign.WantPause, ""); err == nil {
		t.Error("a reader wrote, want an error")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err == nil {
		t.Errorf("read after Close: %v; want an error", err)
	}
	if err := l.ReportLanes(t.Context(), "a", nil); err == nil {
		t.Errorf("wrote after Close: %v; want an error", err)
	}
}
