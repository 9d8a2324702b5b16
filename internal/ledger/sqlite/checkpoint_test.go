package sqlite

import (
	"bytes"
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
)

func TestALongLogIsHelpedAndWarnedOfOnce(t *testing.T) {
	// The checkpoints are those of a real ledger, the size is that of a file beside it.
	path := filepath.Join(t.TempDir(), "sized.db")
	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatalf("making the log: %v; want no error", err)
	}
	var said bytes.Buffer
	c := &checkpointer{ledger: &Ledger{
		checks: openTest(t, ledger.Options{}).checks, path: path, log: slog.New(slog.NewTextHandler(&said, nil)),
	}}
	for _, step := range []struct {
		size     int64
		long     bool
		warnings int // logged until then
	}{
		{0, false, 0},
		{walLong, false, 0},
		{walLong + 1, true, 0},
		{walAlarm, true, 0},
		{walAlarm + 1, true, 1},
		{walAlarm + 2, true, 1},
		{walAlarm, true, 1},
		{walAlarm + 1, true, 2},
		{walLong, false, 2},
	} {
		if err := os.Truncate(path+"-wal", step.size); err != nil {
			t.Fatalf("sizing the log: %v; want no error", err)
		}
		c.run(sqlCheckpoint)
		if got := c.long.Swap(false); got != step.long {
			t.Errorf("at %d bytes the writer is to help: %v; want %v", step.size, got, step.long)
		}
		if got := strings.Count(said.String(), "a reader holds it"); got != step.warnings {
			t.Errorf("at %d bytes %d warnings; want %d", step.size, got, step.warnings)
		}
	}
	c.run("PRAGMA no_such_table.wal_checkpoint")
	if got := strings.Count(said.String(), "ledger checkpoint failed"); got != 1 {
		t.Errorf("%d failures of checkpoints are logged; want 1:\n%s", got, said.String())
	}
}

func TestTheWriteAheadLogStaysSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(ledgertest.Folder(t), "test.db")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r := ledgertest.Load(t, l, 4*campaign.SegmentSize)
		time.Sleep(3 * time.Second)
		largest := int64(0)
		for _, lease := range ledgertest.ClaimAll(t, l, r.No) {
			for from := lease.Lo; from < lease.Hi; from += 64 {
				in := []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: from + 64}}
				if _, err := l.Intend(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, from+64)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
				if s, err := os.Stat(path + "-wal"); err == nil {
					largest = max(largest, s.Size())
				}
			}
		}
		if largest > 2*walLong {
			t.Errorf("the log grew to %d bytes; want at most %d", largest, 2*walLong)
		}
		time.Sleep(5 * time.Second)
		if s, err := os.Stat(path + "-wal"); err != nil || s.Size() != 0 {
			t.Errorf("a quiet ledger keeps a log of %d bytes, %v; want 0, no error", s.Size(), err)
		}
	})
}
