package sqlite

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"
)

// Within a second nothing is granted or recorded any more, and one line says so. The ledger goes on
// when its file is put back.
func TestALedgerThatIsGoneTakesNothing(t *testing.T) {
	t.Parallel()
	replace := func(t *testing.T, path string) {
		t.Helper()
		if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Rename(path, path+".old"); err != nil { // what has a second name can be put back
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		file string
		do   func(t *testing.T, path string)
		want string
	}{
		"File removed":  {"", remove, "test.db was removed or moved while it is open"},
		"File replaced": {"", replace, "test.db was replaced while it is open"},
		"Log removed":   {"-wal", remove, "test.db-wal was removed or moved while it is open"},
		"Log replaced":  {"-wal", replace, "test.db-wal was replaced while it is open"},
		"Index removed": {"-shm", remove, "test.db-shm was removed or moved while it is open"},
		"Lock removed":  {".lock", remove, "test.db.lock was removed or moved while it is open"},
	} {
		path := filepath.Join(t.TempDir(), "test.db")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				l, err := Open(t.Context(), path, ledger.Options{Sender: true, Log: slog.New(slog.NewTextHandler(&said, nil))})
				if err != nil {
					t.Fatal(err)
				}
				r := ledgertest.Load(t, l, 100)
				lease := ledgertest.ClaimAll(t, l, r.No)[0]
				keeping, stop := context.WithCancel(t.Context())
				kept := make(chan struct{})
				go func() { defer close(kept); l.Keep(keeping) }()
				intend := func(from, to int64) error {
					_, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
					return err
				}
				if err := intend(0, 10); err != nil {
					t.Errorf("an intent before: %v; want no error", err)
				}
				c.do(t, path+c.file)
				time.Sleep(time.Second)
				synctest.Wait()
				if got := said.String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 || !strings.Contains(got, "nothing is sent") {
					t.Errorf("after a second the log has %q; want one line with %q", got, c.want)
				}
				if err := l.Look(); !errors.Is(err, campaign.ErrUnwritable) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("looked: %v; want ErrUnwritable with %q", err, c.want)
				}
				if err := intend(10, 20); !errors.Is(err, campaign.ErrUnwritable) {
					t.Errorf("an intent: %v; want ErrUnwritable", err)
				}
				if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 10)); !errors.Is(err, campaign.ErrUnwritable) {
					t.Errorf("results: %v; want ErrUnwritable", err)
				}
				if err := os.Rename(path+c.file+".old", path+c.file); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if err := errors.Join(l.Look(), intend(10, 20), l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 20))); err != nil {
					t.Errorf("after the file was put back: %v; want no error", err)
				}
				stop()
				<-kept
				if err := l.Close(); err != nil {
					t.Errorf("closing: %v; want no error", err)
				}
			})
		})
	}
}

// A lock does not help if its file is removed before the second sender starts, or if the ledger's
// file alone is mounted elsewhere.
func TestOfTwoSendersTheFirstOneStops(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	first, err := Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	second, err := Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	first.opened = nil // as if its lock had another path
	r := ledgertest.Load(t, first, 10)
	const want = "another process took it for sending"
	if err := first.renew(t.Context()); !errors.Is(err, campaign.ErrUnwritable) || !strings.Contains(err.Error(), want) {
		t.Errorf("the first sender: %v; want ErrUnwritable with %q", err, want)
	}
	_, err = first.Claim(t.Context(), campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1,
		Lease: time.Minute})
	if !errors.Is(err, campaign.ErrUnwritable) {
		t.Errorf("a claim of the first: %v; want ErrUnwritable", err)
	}
	if ls := ledgertest.ClaimAll(t, second, r.No); len(ls) != 1 {
		t.Errorf("claims of the second: %v; want 1", ls)
	}
}

// While something is written, and only then, a copy is old after renewEvery.
func TestAWritingLedgerRenewsItsNumber(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		keeping, stop := context.WithCancel(t.Context())
		kept := make(chan struct{})
		go func() { defer close(kept); l.Keep(keeping) }()
		number := func() int64 {
			t.Helper()
			time.Sleep(renewEvery + lookEvery)
			s, err := dbfile.ReadStamp(dbfile.StampPath(path))
			if err != nil {
				t.Fatal(err)
			}
			return s.Number
		}
		before := number()
		if got := number(); got != before {
			t.Errorf("nothing was written: number %d; want %d as before", got, before)
		}
		ledgertest.Load(t, l, 10)
		after := number()
		if after <= before {
			t.Errorf("something was written: number %d; want more than %d", after, before)
		}
		if got := number(); got != after {
			t.Errorf("nothing was written since: number %d; want %d as before", got, after)
		}
		stop()
		<-kept
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err := dbfile.ReadStamp(dbfile.StampPath(path)); err != nil || s.Number != after {
			t.Errorf("closed without a change: number %d, %v; want %d, no error", s.Number, err, after)
		}
	})
}
