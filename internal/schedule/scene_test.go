package schedule

import (
	"log/slog"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
)

// scene is a schedule over a ledger of its own. It has no service.
type scene struct {
	*testing.T
	ledger   campaign.Ledger
	schedule *Scheduler
}

func newScene(t *testing.T) *scene {
	t.Helper()
	l := sqlitetest.Open(t, ledger.Options{})
	return &scene{t, l, New(Options{Config: config.Default(), Ledger: l, Owner: "a", Log: slog.New(slog.DiscardHandler)})}
}
