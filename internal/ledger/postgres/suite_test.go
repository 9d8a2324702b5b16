//go:build unix

package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/portable"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// shared is the PostgreSQL server of this test binary. The first test that needs it starts it, and
// TestMain ends it.
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

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !testing.Short() { // the tests wait for a server or a disk more than for a processor
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(suite{m})
}

// suite stops the shared server, which keeps connections of its own, before leaks are looked for.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	kept.Range(func(_, l any) bool {
		_ = l.(*Ledger).Close()
		return true
	})
	if shared.server != nil {
		shared.server.Stop()
	}
	return code
}

// kept has the last ledger of each database of openKept by its address.
var kept sync.Map

// openKept is openShared for a test that only calls the ledger. The ledger is a new one, and gets
// the connections of the last ledger over the same database, where each statement has its plan.
func openKept(t testing.TB, o ledger.Options) *Ledger {
	t.Helper()
	url := server(t).Kept(t, fill)
	var l *Ledger
	if last, ok := kept.Load(url); ok {
		l = over(t, last.(*Ledger), o)
	} else {
		var err error
		if l, err = Open(t.Context(), url+"&application_name="+pgtest.KeptName, o); err != nil {
			t.Fatalf("opening: %v; want no error", err)
		}
	}
	kept.Store(url, l)
	return l
}

// over is Open with the connections of another ledger.
func over(t testing.TB, last *Ledger, o ledger.Options) *Ledger {
	t.Helper()
	o, err := o.Check()
	if err != nil {
		t.Fatalf("checking %+v: %v; want no error", o, err)
	}
	l := &Ledger{name: last.name, log: o.Log, options: o, sender: last.sender, hooks: last.hooks, reports: last.reports}
	l.Ledger = portable.New(store{l}, ownStatements, o)
	l.outage.Log, l.outage.Name = o.Log, l.name
	if err := l.identify(t.Context(), o); err != nil {
		t.Fatalf("opening again: %v; want no error", err)
	}
	return l
}

// openShared opens a ledger in a database of the test's own.
func openShared(t testing.TB, o ledger.Options) *Ledger {
	t.Helper()
	return openAt(t, migrated(t), o)
}

// migrated returns the address of a database of the test's own that has a ledger's schema. Earlier
// tests may have used it.
func migrated(t testing.TB) string {
	t.Helper()
	return server(t).Reused(t, fill)
}

// openUnused is openShared in a database that no test has used: PostgreSQL has neither counted nor
// planned anything there.
func openUnused(t testing.TB, o ledger.Options) *Ledger {
	t.Helper()
	return openAt(t, server(t).Filled(t, fill), o)
}

// fill gives a database a ledger's schema.
func fill(url string) error {
	l, err := Open(context.Background(), url, ledger.Options{})
	if err != nil {
		return err
	}
	return l.Close()
}

func openAt(t testing.TB, dsn string, o ledger.Options) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), dsn, o)
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
	ledgertest.RunMain(t, func(t *testing.T) campaign.Ledger {
		return openKept(t, ledger.Options{Origin: ledgertest.Origin, Platform: ledgertest.Platform, Notify: ledgertest.Notify,
			PerCompany: true})
	})
}

// Leases take the server's time from a function of the schema, which the test replaces. Each test
// gives the function back, so that the next one may use its database.
func TestPostgresKeepsItsPromisesToTheMillisecond(t *testing.T) {
	t.Parallel()
	ledgertest.RunClock(t, func(t *testing.T, f func(*testing.T, campaign.Ledger, ledgertest.Clock)) {
		l := openKept(t, ledger.Options{})
		db, err := pgx.ConnectConfig(t.Context(), l.sender.Config)
		if err != nil {
			t.Fatalf("connecting to %s: %v; want no error", l.name, err)
		}
		var clock string
		if err := db.QueryRow(t.Context(), `SELECT pg_get_functiondef('ledger_now'::regproc)`).Scan(&clock); err != nil {
			t.Fatalf("the server's clock: %v; want no error", err)
		}
		defer func() {
			_, err := db.Exec(context.WithoutCancel(t.Context()), clock)
			if err = errors.Join(err, db.Close(context.WithoutCancel(t.Context()))); err != nil {
				t.Errorf("giving the database its clock again: %v; want no error", err)
			}
		}()
		now := time.Now().Truncate(time.Millisecond)
		pass := func(d time.Duration) {
			t.Helper()
			now = now.Add(d)
			set := fmt.Sprintf(`CREATE OR REPLACE FUNCTION ledger_now() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
				AS 'SELECT %d::bigint'`, ledger.Millis(now))
			if _, err := db.Exec(t.Context(), set); err != nil {
				t.Fatalf("setting the clock to %s: %v; want no error", now, err)
			}
		}
		pass(0)
		f(t, l, ledgertest.Clock{Now: func() time.Time { return now }, Pass: pass})
	})
}

// beside opens a connection to a ledger's database that is not the ledger's.
func beside(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connecting: %v; want no error", err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// tablesOf reads every row of every table, as text.
func tablesOf(t *testing.T, c *pgx.Conn) string {
	t.Helper()
	var query, rows string
	err := c.QueryRow(t.Context(), `SELECT
			string_agg(format('SELECT %L || t::text AS row FROM %I t', tablename || ' ', tablename), ' UNION ALL ')
		FROM pg_tables WHERE schemaname = 'public'`).Scan(&query)
	if err == nil {
		err = c.QueryRow(t.Context(), `SELECT string_agg(row, E'\n' ORDER BY row) FROM (`+query+`) x`).Scan(&rows)
	}
	if err != nil {
		t.Fatalf("reading all rows: %v; want no error", err)
	}
	return rows
}

// own starts a server for one test, which may damage it.
func own(t *testing.T, settings ...string) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(settings...)
	pgtest.Require(t, err)
	t.Cleanup(s.Stop)
	return s
}

// statusOfMessage is a batch of one status.
func statusOfMessage(id string, s campaign.Status) campaign.Events {
	return campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: id, Status: s, At: time.Now()}}}
}
