//go:build unix

package ledger

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"

	"github.com/jackc/pgx/v5"
)

// shared is the PostgreSQL of this test binary, started by the first test that needs it
// and ended by TestMain.
var shared struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func server(t testing.TB) *pgtest.Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = pgtest.Start() })
	pgtest.Require(t, shared.err)
	return shared.server
}

// stopServers ends the shared server and the test binary.
func stopServers(code int) {
	if shared.server != nil {
		shared.server.Stop()
	}
	os.Exit(code)
}

// openShared opens a ledger in a database of the test's own.
func openShared(t testing.TB, o Options) *Postgres {
	t.Helper()
	return openAt(t, migrated(t), o)
}

// migrated is the address of a database of the test's own that is a ledger already.
func migrated(t testing.TB) string {
	t.Helper()
	return server(t).Filled(t, func(url string) error {
		l, err := OpenPostgres(context.Background(), url, Options{})
		if err != nil {
			return err
		}
		return l.Close()
	})
}

func openAt(t testing.TB, dsn string, o Options) *Postgres {
	t.Helper()
	l, err := OpenPostgres(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestPostgresKeepsEveryPromiseOfTheLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T) campaign.Ledger { return openShared(t, Options{}) })
}

// Leases ask the server for the time by a function of the schema, which is replaced.
func TestPostgresKeepsItsPromisesToTheMillisecond(t *testing.T) {
	t.Parallel()
	ledgertest.RunClock(t, func(t *testing.T, f func(*testing.T, campaign.Ledger, ledgertest.Clock)) {
		url := migrated(t)
		l := openAt(t, url, Options{})
		db, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatalf("connecting to %s: %v; want no error", url, err)
		}
		defer db.Close(context.WithoutCancel(t.Context()))
		now := time.Now().Truncate(time.Millisecond)
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			if _, err := db.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION ledger_now() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT %d::bigint'`, millis(now))); err != nil {
				t.Fatalf("setting the clock to %s: %v; want no error", now, err)
			}
		}
		pass(0)
		f(t, l, ledgertest.Clock{Now: func() time.Time { return now }, Pass: pass})
	})
}
