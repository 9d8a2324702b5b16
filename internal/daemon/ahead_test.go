package daemon

import (
	"path/filepath"
	"testing"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/numbers"
)

// Without --ahead a quarantine doubts as many messages as the fastest number can have sent in the
// lost time.
func TestAQuarantineDoubtsWhatTheLostTimeAllowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.db")
	l, err := sqlite.Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	stored(t, l, "spring", 10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Ledger = "sqlite:" + path
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 20}, "conn_2": {Rate: 70}} // no run sends from conn_2
	for ahead, want := range map[int64]int64{-1: int64(numbers.NewDirectory(cfg).AssumedPace("conn_1") * 30), 0: 0, 7: 7} {
		q, err := Quarantine(t.Context(), cfg, QuarantineOptions{Lost: 30 * time.Second, Ahead: ahead, Force: true, DryRun: true})
		if err != nil || q.Ahead != want || want == 0 && ahead < 0 {
			t.Errorf("--ahead %d: got %d messages (%v), want %d", ahead, q.Ahead, err, want)
		}
	}
}
