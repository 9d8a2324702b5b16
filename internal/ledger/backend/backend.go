// Package backend opens the ledger that a configuration names, on SQLite or on PostgreSQL. The
// commands, the doctor and the daemon call it, so that one package knows which backends there are.
package backend

import (
	"context"
	"log/slog"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/dbfile"
)

// Open opens the ledger at dsn, which has the form of the key `ledger`.
func Open(ctx context.Context, dsn string, o ledger.Options) (campaign.Ledger, error) {
	return ledger.Open(ctx, dsn, o, sqlite.Open, postgres.Open)
}

// Read opens the configured ledger to read it, also where this user may not write it.
func Read(ctx context.Context, cfg *config.Config, log *slog.Logger) (campaign.Ledger, error) {
	return Open(ctx, cfg.Ledger, ledger.Options{Copy: true, Log: log, Address: cfg.LedgerNow(), Connections: cfg.LedgerConnections})
}

// Lost returns an error when the file of the SQLite ledger is gone: its companion shows that there
// was one.
func Lost(cfg *config.Config) error {
	if !cfg.NoLedger() {
		return nil
	}
	return dbfile.Lost(cfg.LedgerFile())
}
