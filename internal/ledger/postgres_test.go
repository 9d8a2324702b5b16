//go:build unix

package ledger

import (
	"os"
	"sync"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"
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
	return openAt(t, server(t).Database(t), o)
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
	ledgertest.Run(t, func(t *testing.T) campaign.Ledger { return openShared(t, Options{}) })
}
