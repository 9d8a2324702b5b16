package portable

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const sqlKeepAudit = `INSERT INTO audit (run, began_at, ended_at, result) VALUES ($1, $2, $3, $4)
	ON CONFLICT (run) DO UPDATE SET began_at = $2, ended_at = $3, result = $4`

// KeepAudit implements campaign.AuditLedger.
func (l *Ledger) KeepAudit(ctx context.Context, run campaign.RunNo, a campaign.KeptAudit) error {
	_, err := l.exec(ctx, Sending, sqlKeepAudit, int64(run), ledger.Millis(a.Began), ledger.Millis(a.Ended), a.Result)
	return err
}

const sqlLastAudit = `SELECT began_at, ended_at, result FROM audit WHERE run = $1`

// LastAudit implements campaign.AuditLedger.
func (l *Ledger) LastAudit(ctx context.Context, run campaign.RunNo) (a campaign.KeptAudit, err error) {
	var began, ended int64
	_, err = l.row(ctx, Sending, []any{&began, &ended, &a.Result}, sqlLastAudit, int64(run))
	a.Began, a.Ended = ledger.TimeOf(began), ledger.TimeOf(ended)
	return a, err
}
