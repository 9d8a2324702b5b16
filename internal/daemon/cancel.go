package daemon

import (
	"context"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/config"
)

// EndCancelled ends a run whose wanted state is cancel: it skips the queued rows and sends nothing.
// It needs the ledger alone, neither the service nor the limiter. The error is campaign.ErrLocked
// while another process sends from an SQLite ledger; that process ends the run. After budget it
// returns the run as it is and nil.
func EndCancelled(
	ctx context.Context, cfg *config.Config, no campaign.RunNo, budget time.Duration, log *slog.Logger,
) (_ campaign.Run, err error) {
	l, err := OpenLedger(ctx, cfg, true, log)
	if err != nil {
		return campaign.Run{}, err
	}
	defer closing(l, log)
	return endCancelled(ctx, l, no, time.Duration(cfg.Sending.Lease), budget)
}

func endCancelled(ctx context.Context, l campaign.Ledger, no campaign.RunNo, lease, budget time.Duration) (campaign.Run, error) {
	within, stop := context.WithTimeout(ctx, budget)
	defer stop()
	run, err := sender.EndCancelled(within, l, no, sender.Options{Owner: ownerName(), Lease: lease})
	if within.Err() != nil && ctx.Err() == nil {
		err = nil // the next sender ends it
	}
	return run, err
}
