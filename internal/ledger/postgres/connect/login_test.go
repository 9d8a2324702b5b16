//go:build unix

package connect

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/ledger/pgtest"

	"github.com/jackc/pgx/v5"
)

// The pool goes on when the database has another password and the address is read again.
func TestARotatedPasswordIsReadAgain(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "campaignd-hba-") // the server's user cannot read in t.TempDir
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	hba := filepath.Join(dir, "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := pgtest.Start("hba_file=" + hba)
	pgtest.Require(t, err)
	t.Cleanup(s.Stop)
	admin, err := pgx.Connect(t.Context(), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	rotate := func(statement string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	rotate("CREATE ROLE app LOGIN PASSWORD 'first'")
	address := func(login string) string {
		return strings.Replace(s.URL("postgres"), "postgres://postgres@", "postgres://"+login+"@", 1)
	}
	config, err := pgx.ParseConfig(address("app:first"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	file, broken := address("app:first"), error(nil)
	login := NewLogin(config, func() (*pgx.ConnConfig, error) {
		if broken != nil {
			return nil, broken
		}
		return pgx.ParseConfig(file)
	}, slog.New(slog.NewTextHandler(&out, nil)))
	p := New("test", config, login, 0, time.Second, nil)
	defer p.Close()
	connect := func() error {
		t.Helper()
		p.Forget()
		p.next = time.Time{} // the pause after a failure is over
		c, err := p.Acquire(t.Context())
		if err == nil {
			p.Release(c)
		}
		return err
	}
	said := func(want string) {
		t.Helper()
		if got := strings.Count(out.String(), "\n"); got != 1 || !strings.Contains(out.String(), want) {
			t.Errorf("the log has %d lines: %s\nwant one with %q", got, out.String(), want)
		}
		out.Reset()
	}
	if err := connect(); err != nil {
		t.Fatalf("connecting at the start: %v, want no error", err)
	}

	rotate("ALTER ROLE app PASSWORD 'second'")
	for range 2 {
		if err := connect(); !refusesLogin(err) {
			t.Errorf("the file still has the first password: %v, want a refusal", err)
		}
	}
	said("still has the same")
	broken = errors.New("file is gone")
	for range 2 {
		if err := connect(); !refusesLogin(err) {
			t.Errorf("the file cannot be read: %v, want a refusal", err)
		}
	}
	said("file is gone")
	file, broken = address("app:wrong"), nil
	for range 2 {
		if err := connect(); !refusesLogin(err) {
			t.Errorf("the file has a wrong password: %v, want a refusal", err)
		}
	}
	said("also those that were read again")
	file = address("app:second")
	for range 2 {
		if err := connect(); err != nil {
			t.Fatalf("the file has the second password: %v, want no error", err)
		}
	}
	said("it takes them")

	// A user that is made anew for each rotation, and a password that no line shows.
	rotate("CREATE ROLE app2 LOGIN PASSWORD 'third'")
	rotate("ALTER ROLE app NOLOGIN")
	file = address("app2:third")
	if err := connect(); err != nil {
		t.Fatalf("the file has another user: %v, want no error", err)
	}
	if strings.Contains(out.String(), "third") {
		t.Errorf("the log shows the password: %s; want none", out.String())
	}
	said("user=app2")
}
