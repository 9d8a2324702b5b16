package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlListen = `INSERT INTO listening (since, until) VALUES ($1, $2)
		ON CONFLICT (since) DO UPDATE SET until = greatest(listening.until, excluded.until)`
	sqlForgetListening = `DELETE FROM listening WHERE until < $1`
	sqlListened        = `SELECT since, until FROM listening WHERE until > $1`
)

// Listen implements campaign.ListenLedger. It forgets what is older than campaign.ListenKept.
func (l *Ledger) Listen(ctx context.Context, s campaign.Span) error {
	return l.change(ctx, l.hooks, "", func(t *tx) error {
		t.last(stmt(nil, sqlListen, ledger.Millis(s.Since), ledger.Millis(s.Until)),
			stmt(nil, sqlForgetListening, ledger.Millis(s.Until.Add(-campaign.ListenKept))))
		return nil
	})
}

// Listened implements campaign.ListenLedger.
func (l *Ledger) Listened(ctx context.Context, after time.Time) (all []campaign.Span, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanSpan, sqlListened, ledger.Millis(after)))
	return all, err
}
