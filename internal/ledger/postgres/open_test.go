//go:build unix

package postgres

import (
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/jackc/pgx/v5"
)

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
