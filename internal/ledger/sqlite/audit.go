package sqlite

import (
	"context"

	"campaignd/campaign"
)

// Audit implements campaign.ReportLedger.
func (l *Ledger) Audit(ctx context.Context, no campaign.RunNo, limit int) ([]campaign.Problem, error) {
	return l.AuditBy(ctx, no, limit, func(n int) ([]campaign.Problem, error) { return l.queuedTwice(ctx, no, n) })
}
