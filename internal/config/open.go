package config

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging/service"
)

// ReadLedger opens the configured ledger to read it, also where this user may not write it.
func ReadLedger(ctx context.Context, cfg *Config, log *slog.Logger) (campaign.Ledger, error) {
	return ledger.Open(ctx, cfg.Ledger, ledger.Options{Copy: true, Log: log}, sqlite.Open, postgres.Open)
}

var _ campaign.Service = (*service.Client)(nil)

// NewClient makes the client of the configured service.
func NewClient(cfg *Config) (*service.Client, error) { return NewClientOver(cfg, nil) }

// NewClientOver is NewClient with a transport; nil: the client's own.
func NewClientOver(cfg *Config, transport http.RoundTripper) (*service.Client, error) {
	return service.New(service.Options{
		BaseURL: cfg.Service.BaseURL, APIKey: cfg.Service.APIKey, Timeout: time.Duration(cfg.Service.Timeout),
		AllowHTTP: cfg.Service.AllowHTTP, UserAgent: cfg.Service.UserAgent,
		MaxInFlight: cfg.Sending.InFlight * max(len(cfg.Numbers), 4), ProvenRefusals: cfg.Service.ProvenRefusals(),
		Assumed: cfg.Service.Assumptions(), Transport: transport,
	})
}
