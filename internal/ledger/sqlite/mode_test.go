//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// The ledger and the files beside it contain phone numbers.
func TestOnlyTheOwnerReadsTheLedgersFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	l, err := Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatalf("open: %v; want no error", err)
	}
	defer l.Close()
	f, err := l.Diagnose(t.Context())
	if err != nil || f.Unsafe != nil || !f.Clock.IsZero() || !strings.Contains(f.Durable, "synchronous=FULL") {
		t.Errorf("diagnosis %+v (%v); want a durable ledger without a clock of its own", f, err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock", path + ".stamp"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Errorf("%s: %v; want it to exist", filepath.Base(name), err)
			continue
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s: mode %o; want 600", filepath.Base(name), got)
		}
	}
}
