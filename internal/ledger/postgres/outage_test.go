//go:build unix

package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"
)

// A trigger stands for the full disk of a tablespace: it fails the same statements with the code
// that PostgreSQL has for it.
func TestAFullDiskOfPostgresIsOneLine(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	dsn := migrated(t)
	l := openAt(t, dsn, ledger.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	beside := beside(t, dsn)
	for _, statement := range []string{
		`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$`,
		`CREATE TRIGGER full_disk BEFORE INSERT ON suppression FOR EACH ROW EXECUTE FUNCTION full_disk()`,
	} {
		if _, err := beside.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	suppress := func() error {
		_, err := l.Suppress(t.Context(), []campaign.Suppression{campaign.NewSuppression(1, "1", campaign.ScopeAll, "import", time.Now())})
		return err
	}
	for range 20 {
		if err := suppress(); !errors.Is(err, campaign.ErrFull) || !errors.Is(err, campaign.ErrUnwritable) {
			t.Fatalf("a write to a full disk: %v; want ErrFull and ErrUnwritable", err)
		}
		if err := l.change(t.Context(), l.sender, "", func(t *tx) error { return t.do(stmt(nil, `DELETE FROM hold`)) }); err != nil {
			t.Fatalf("a change of no row: %v; want no error", err)
		}
		if _, err := l.Unwritable(); err == nil {
			t.Fatalf("a change of no row ended the outage, want it to go on")
		}
	}
	if got := strings.Count(said.String(), "level="); got != 1 || !strings.Contains(said.String(), "the ledger takes no writes") {
		t.Errorf("20 failures: got %d lines, want 1:\n%s", got, &said)
	}
	if _, err := beside.Exec(t.Context(), `DROP TRIGGER full_disk ON suppression`); err != nil {
		t.Fatal(err)
	}
	if err := suppress(); err != nil {
		t.Errorf("the same write after the outage: %v; want no error", err)
	}
	if _, err := l.SetPlan(t.Context(), 7); err != nil {
		t.Errorf("a write after the outage: %v; want no error", err)
	}
	if since, err := l.Unwritable(); err != nil {
		t.Errorf("after a write: unwritable since %v (%v); want no error", since, err)
	}
}

// Each part of the program meets a server that is away, and none of them needs a line of its own.
func TestAServerThatIsAwayIsOneLine(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(migrated(t)), ledger.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	wire.Close()
	for _, p := range []*connect.Pool{l.sender, l.hooks, l.reports} {
		p.Forget()
	}
	for range 5 {
		if _, err := l.Runs(t.Context(), campaign.RunFilter{}); !errors.Is(err, campaign.ErrUnwritable) {
			t.Fatalf("reading: %v; want ErrUnwritable", err)
		}
		if _, err := l.SetPlan(t.Context(), 7); !errors.Is(err, campaign.ErrUnwritable) {
			t.Fatalf("writing: %v; want ErrUnwritable", err)
		}
	}
	if got := strings.Count(said.String(), "level="); got != 1 || !strings.Contains(said.String(), "nothing answers there") {
		t.Errorf("10 calls: got %d lines, want 1 that nothing answers:\n%s", got, &said)
	}
}
