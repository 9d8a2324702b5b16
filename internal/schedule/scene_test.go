package schedule

import (
	"log/slog"
	"path/filepath"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// scene is a schedule over a ledger of its own. It has no service.
type scene struct {
	*testing.T
	ledger   campaign.Ledger
	schedule *Scheduler
}

func newScene(t *testing.T) *scene {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &scene{t, l, New(Options{Config: config.Default(), Ledger: l, Owner: "a", Log: slog.New(slog.DiscardHandler)})}
}
