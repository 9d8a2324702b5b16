package sqlite

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("LEDGER_TEST_CHILD"); path != "" {
		childSends(path)
	}
	debug.SetGCPercent(400) // many short ledgers in one process
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !testing.Short() { // the tests wait for a disk more than for a processor
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// fresh is the file of a new ledger. The first test that needs one makes it, since the migrations
// take more processor time than most tests.
var fresh = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fresh.db")
	l, err := Open(context.Background(), path, ledger.Options{})
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// openTest opens a new ledger and closes it when the test ends.
func openTest(t testing.TB, o ledger.Options) *Ledger {
	t.Helper()
	return openThrough(t, "sqlite", o)
}

// openThrough is openTest through a named driver of database/sql.
func openThrough(t testing.TB, driver string, o ledger.Options) *Ledger {
	t.Helper()
	path := filepath.Join(ledgertest.Folder(t), "test.db")
	file, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openWith(t.Context(), driver, path, o)
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

func TestSQLiteKeepsEveryPromiseOfTheLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T) campaign.Ledger {
		return openTest(t, ledger.Options{Origin: ledgertest.Origin, Platform: ledgertest.Platform, Notify: ledgertest.Notify,
			PerCompany: true})
	})
}

// tables implements ledgertest.Tables.
type tables struct{ *Ledger }

// dialect translates what ledgertest.Tables.Alter promises.
var dialect = strings.NewReplacer("NONE", "''", "ZERO", "0")

func (l tables) Alter(ctx context.Context, query string) error {
	return l.write(ctx, urgent, func(t *tx) error {
		_, err := t.exec(dialect.Replace(query))
		return err
	})
}

func (l tables) Stored(ctx context.Context, query string) (text string, err error) {
	err = l.read().row(ctx, query, nil, &text)
	return text, err
}

func (l tables) QuarantineAt(ctx context.Context, ahead, since, now int64) (n int64, err error) {
	err = l.write(ctx, urgent, func(t *tx) (err error) {
		n, err = t.quarantine(ahead, nil, since, now)
		return err
	})
	return n, err
}

func (l tables) MessageHash(id string) int64 { return l.key.MessageHash(id) }

func (l tables) ReadOnly(ctx context.Context) error {
	r, err := Open(ctx, l.Path(), ledger.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return r.Close()
}

func TestSQLiteKeepsItsTablesAsPromised(t *testing.T) {
	ledgertest.RunTables(t, func(t *testing.T) ledgertest.Tables { return tables{openTest(t, ledger.Options{Sender: true})} })
}

func TestSQLiteKeepsItsPromisesToTheMillisecond(t *testing.T) {
	ledgertest.RunClock(t, func(t *testing.T, f func(*testing.T, campaign.Ledger, ledgertest.Clock)) {
		synctest.Test(t, func(t *testing.T) {
			// The ledger's clock is this process's, so it is the bubble's.
			f(t, openTest(t, ledger.Options{}), ledgertest.Clock{Now: time.Now, Pass: time.Sleep})
		})
	})
}
