package ledger_test

import (
	"strings"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

func TestASenderIsNeverReadOnly(t *testing.T) {
	t.Parallel()
	const want = "a sender cannot be read-only"
	for _, dsn := range []string{"sqlite:" + t.TempDir() + "/x.db", "postgres://127.0.0.1:1/x"} {
		l, err := ledger.Open(t.Context(), dsn, ledger.Options{Sender: true, ReadOnly: true}, sqlite.Open, postgres.Open)
		if err == nil {
			l.Close()
		}
		if l != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want no ledger and an error with %q", dsn, l, err, want)
		}
	}
}

func TestAnAddressThatIsNoLedgersIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dsn, want string }{
		{"mysql://root:secret@host/db", "want sqlite:PATH or postgres://"},
		{"mysql://root:secret?more@host/db", "want sqlite:PATH or postgres://"},
		{"host=db user=root password=secret", "want sqlite:PATH or postgres://"},
		{"sqlite:", "want sqlite:PATH"},
	} {
		l, err := ledger.Open(t.Context(), c.dsn, ledger.Options{}, sqlite.Open, postgres.Open)
		if l != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v; want no ledger and a line with %q", c.dsn, l, err, c.want)
		}
	}
}
