package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"campaignd/internal/audience"
	"campaignd/internal/commerce"
	"campaignd/internal/config"
)

// Audiences makes the lists of audiences. ledger may be nil if no list is launched.
func Audiences(cfg *config.Config, ledger audience.Ledger, log *slog.Logger) (*audience.Lists, error) {
	folder := cfg.AudienceFolder()
	if folder != "" {
		var err error
		if folder, err = filepath.Abs(folder); err != nil { // the ledger keeps it, for processes elsewhere
			return nil, err
		}
	}
	return audience.NewLists(folder, func() (*commerce.Client, error) {
		if !cfg.Commerce.Configured() {
			return nil, audience.Fault("audience", "needs a commerce platform, and none is configured; set commerce.base_url")
		}
		return config.NewCommerce(cfg, log)
	}, ledger, log), nil
}

// openAudiences deletes the lists that killed processes left.
func (d *Daemon) openAudiences(ctx context.Context) (err error) {
	if d.audiences, err = Audiences(d.cfg, d.ledger, d.log); err == nil {
		_, err = d.audiences.Sweep(ctx)
	}
	if err != nil {
		return fmt.Errorf("the folder of the lists of audiences: %w", err)
	}
	return nil
}
