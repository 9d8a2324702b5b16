package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"
)

func TestOneSenderAtATime(t *testing.T) {
	l := openTest(t, ledger.Options{Sender: true})
	_, err := Open(t.Context(), l.Path(), ledger.Options{Sender: true})
	if !errors.Is(err, campaign.ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Fatalf("second sender: %v; want ErrLocked, a text with %d", err, os.Getpid())
	}
	r := ledgertest.Load(t, l, 1)
	beside, err := Open(t.Context(), l.Path(), ledger.Options{}) // the operator's commands work beside it
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	if _, err := beside.SetWanted(t.Context(), r.No, campaign.WantPause, ""); err != nil {
		t.Fatal(err)
	}
	ls := ledgertest.ClaimAll(t, l, r.No)
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 1}})
	if err != nil || !g[0].Denied {
		t.Errorf("a pause from another process: %+v %v; want no error, Denied", g, err)
	}
	reader, err := Open(t.Context(), l.Path(), ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, err := reader.Run(t.Context(), r.No); err != nil || got.Wanted != campaign.WantPause {
		t.Errorf("got %+v %v; want no error, Wanted WantPause", got, err)
	}
	if _, err := reader.SetWanted(t.Context(), r.No, campaign.WantRun, ""); err == nil {
		t.Errorf("writing to a read-only ledger: %v; want an error", err)
	}
}

func TestANewSenderTakesEveryLeaseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	l, err := Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Load(t, l, 5000)
	old := ledgertest.ClaimAll(t, l, r.No)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(t.Context(), path, ledger.Options{Sender: true}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ls := ledgertest.ClaimAll(t, l, r.No)
	if len(old) != 2 || len(ls) != 2 || ls[0].Epoch != 2 || !ls[0].Recovered {
		t.Errorf("got %+v after %+v; want 2 leases each time, now Epoch 2, Recovered", ls, old)
	}
}

func TestAFileThatCannotBeOpenedIsExplained(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("these are notes, not a ledger\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "x.db")
	l, err := Open(t.Context(), damaged, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dbfile.StampPath(damaged), []byte("what"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "music.db")
	other, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), "CREATE TABLE songs (title TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		o          ledger.Options
	}{
		{filepath.Join(dir, "no", "x.db"), "does not exist: create it", ledger.Options{}},
		{dir, "is a folder: name a file in it", ledger.Options{}},
		{text, "is not a campaignd ledger", ledger.Options{}},
		{foreign, "is not a campaignd ledger", ledger.Options{}},
		{filepath.Join(text, "x.db"), "notes.txt", ledger.Options{}},
		{filepath.Join(dir, "none.db"), "does not exist", ledger.Options{ReadOnly: true}},
		{damaged, "is damaged", ledger.Options{Sender: true}},
	} {
		l, err := Open(t.Context(), c.path, c.o)
		if err == nil {
			l.Close()
			t.Errorf("%s: opened with %v; want an error with %q", c.path, err, c.want)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want a line with %q", c.path, err, c.want)
		}
	}
}

func TestAFolderThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := "/proc" // not even root may make a file there
	if os.Getuid() != 0 {
		dir = t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(t.Context(), filepath.Join(dir, "x.db"), ledger.Options{})
	if err == nil || !strings.Contains(err.Error(), "writable") {
		t.Errorf(`got %v; want an error, a text with "writable"`, err)
	}
}

func TestACallAfterCloseFails(t *testing.T) {
	l := openTest(t, ledger.Options{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err == nil {
		t.Errorf("reading after Close: %v; want an error", err)
	}
	if err := l.ReportLanes(t.Context(), "a", nil); err == nil {
		t.Errorf("writing after Close: %v; want an error", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("closing again: %v; want no error", err)
	}
}

func TestALeaseEndsByTheLedgersClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		r := ledgertest.Load(t, l, 100)
		claim := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: 15 * time.Second}
		ls, err := l.Claim(t.Context(), claim)
		if err != nil || len(ls) != 1 {
			t.Fatalf("got %+v %v; want no error, length 1", ls, err)
		}
		if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 10}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(14 * time.Second)
		if more, err := l.Claim(t.Context(), claim); err != nil || len(more) != 0 {
			t.Fatalf("claimed before the lease ended: %+v %v; want no error, length 0", more, err)
		}
		time.Sleep(time.Second)
		more, err := l.Claim(t.Context(), claim)
		if err != nil || len(more) != 1 || more[0].Epoch != 2 {
			t.Fatalf("got %+v %v; want no error, length 1, Epoch 2", more, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestASnapshotHasEndedWhenItReturns(t *testing.T) {
	l := openTest(t, ledger.Options{})
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		err := l.snapshot(ctx, func(reader) error {
			cancel()
			runtime.Gosched() // a goroutine that waits for ctx begins to end the transaction
			return ctx.Err()
		})
		if n := l.reads.Stats().InUse; n != 0 || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v and %d connections in use, want %v and none", err, n, context.Canceled)
		}
	}
}
