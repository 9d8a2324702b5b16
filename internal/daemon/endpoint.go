package daemon

import (
	"context"
	"log/slog"
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/messaging/service"
	"campaignd/internal/numbers"
)

// NoteEndpoint keeps in the ledger which endpoint a new secret is of, so that
// doctor.RemovesTheLast can tell it. Before there is a ledger it does nothing.
func NoteEndpoint(ctx context.Context, cfg *config.Config, w service.Webhook, log *slog.Logger) error {
	if cfg.NoLedger() {
		return nil
	}
	l, err := openLedger(ctx, cfg, false, log, numbers.NewDirectory(cfg))
	if err != nil {
		return err
	}
	defer closing(l, log)
	_, _, err = l.NoteSignatures(ctx, reception.SignatureNote{Endpoints: map[string]string{w.Secret.Fingerprint(): w.ID}}, time.Now())
	return err
}
