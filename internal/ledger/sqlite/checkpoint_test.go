package sqlite

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

func TestALongLogIsHelpedAndAHeldOneSaidOnce(t *testing.T) {
	// The checkpoints are of a real ledger, the size is that of a file beside it.
	path := filepath.Join(t.TempDir(), "sized.db")
	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatalf("making the log: %v; want no error", err)
	}
	var said bytes.Buffer
	c := &checkpointer{ledger: &Ledger{checks: openTest(t, ledger.Options{}).checks, path: path, log: slog.New(slog.NewTextHandler(&said, nil))}}
	for _, step := range []struct {
		size     int64
		long     bool
		warnings int // up to now
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
		c.run("PRAGMA wal_checkpoint(PASSIVE)")
		if got := c.long.Swap(false); got != step.long {
			t.Errorf("at %d bytes the writer is to help: %v, want %v", step.size, got, step.long)
		}
		if got := strings.Count(said.String(), "a reader holds it"); got != step.warnings {
			t.Errorf("at %d bytes %d warnings, want %d", step.size, got, step.warnings)
		}
	}
	c.run("PRAGMA no_such_table.wal_checkpoint")
	if got := strings.Count(said.String(), "ledger checkpoint failed"); got != 1 {
		t.Errorf("%d failures of checkpoints are logged, want 1:\n%s", got, said.String())
	}
}
