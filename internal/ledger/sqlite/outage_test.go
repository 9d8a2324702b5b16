package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// limitPages lets the writer's connection use no more than n pages. SQLite then refuses more as it
// does on a full disk.
func limitPages(t *testing.T, l *Ledger, n int64) {
	t.Helper()
	if err := l.write(t.Context(), urgent, func(t *tx) error {
		return t.row(fmt.Sprintf("PRAGMA max_page_count = %d", n), nil, &n)
	}); err != nil {
		t.Fatalf("limiting the pages: %v; want no error", err)
	}
}

// On a full disk small transactions still succeed, and everything else is tried again all the time.
func TestAFullDiskIsTwoLinesInTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		l, err := Open(t.Context(), path, ledger.Options{Sender: true, Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatalf("opening: %v; want no error", err)
		}
		defer l.Close()
		large := make([]campaign.Suppression, 100)
		for i := range large {
			large[i] = campaign.NewSuppression(int64(i+1), strings.Repeat("1", 200), campaign.ScopeAll, "import", time.Now())
		}
		lines := func() [2]int {
			return [2]int{strings.Count(said.String(), "level="), strings.Count(said.String(), "the ledger takes writes again")}
		}
		limitPages(t, l, 1)
		began := time.Now()
		for i := range 600 { // ten minutes
			if _, err := l.Suppress(t.Context(), large); !errors.Is(err, campaign.ErrFull) || !errors.Is(err, campaign.ErrUnwritable) {
				t.Fatalf("a write to a full disk: %v; want ErrFull and ErrUnwritable", err)
			}
			if since, err := l.Unwritable(); err == nil || i < 9 && !since.Equal(began) {
				t.Fatalf("after %d failures: unwritable since %v (%v); want %v and an error", i+1, since, err, began)
			}
			time.Sleep(time.Second)
			if i%10 == 9 {
				if _, err := l.SetPlan(t.Context(), int64(i)); err != nil {
					t.Fatalf("a small write: %v; want no error", err)
				}
				if since, err := l.Unwritable(); err != nil {
					t.Fatalf("after a write that succeeded: unwritable since %v (%v); want no error", since, err)
				}
			}
		}
		if got := lines(); got != [2]int{1, 0} {
			t.Errorf("in ten minutes: got %v lines and ends, want 1 and 0:\n%s", got, &said)
		}
		limitPages(t, l, 1<<30)
		for range 2 {
			time.Sleep(10 * time.Second)
			if _, err := l.Suppress(t.Context(), large); err != nil {
				t.Fatalf("a write after the outage: %v; want no error", err)
			}
		}
		if got := lines(); got != [2]int{2, 1} {
			t.Errorf("after the outage: got %v lines and ends, want 2 and 1:\n%s", got, &said)
		}
	})
}

// A transaction that changes nothing succeeds on a full disk too, whatever the one before it
// changed.
func TestACallThatWritesNothingEndsNoOutage(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	r := ledgertest.Load(t, l, 1)
	l.outage.Failed(errors.New("the disk is full"))
	if _, err := l.Claim(t.Context(), campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No + 1}, Max: 1}); err != nil {
		t.Fatalf("a claim that finds nothing: %v; want no error", err)
	}
	if since, err := l.Unwritable(); err == nil {
		t.Errorf("after a call that wrote nothing: unwritable since %v (%v); want an error", since, err)
	}
}

// A checkpoint that fails each second is one line, and none during an outage that is logged.
func TestAFailingCheckpointIsOneLine(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	l := openTest(t, ledger.Options{})
	c := &checkpointer{ledger: &Ledger{checks: l.checks, path: l.path, log: slog.New(slog.NewTextHandler(&said, nil))}}
	for range 600 {
		c.run("PRAGMA no_such_table.wal_checkpoint")
	}
	c.run(sqlCheckpoint)
	c.run("PRAGMA no_such_table.wal_checkpoint")
	if got := strings.Count(said.String(), "level="); got != 2 {
		t.Errorf("two times that checkpoints fail: got %d lines, want 2:\n%s", got, &said)
	}
}
