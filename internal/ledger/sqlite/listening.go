package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlListen = `INSERT INTO listening (since, until) VALUES (?1, ?2)
		ON CONFLICT (since) DO UPDATE SET until = max(until, excluded.until)`
	sqlForgetListening = `DELETE FROM listening WHERE until < ?`
	sqlListened        = `SELECT since, until FROM listening WHERE until > ?`
)

// Listen implements campaign.ListenLedger. It forgets what is older than campaign.ListenKept.
func (l *Ledger) Listen(ctx context.Context, s campaign.Span) error {
	return l.write(ctx, results, func(t *tx) error {
		if _, err := t.exec(sqlListen, ledger.Millis(s.Since), ledger.Millis(s.Until)); err != nil {
			return err
		}
		_, err := t.exec(sqlForgetListening, ledger.Millis(s.Until.Add(-campaign.ListenKept)))
		return err
	})
}

// Listened implements campaign.ListenLedger.
func (l *Ledger) Listened(ctx context.Context, after time.Time) (all []campaign.Span, err error) {
	err = l.read().each(ctx, sqlListened, args(ledger.Millis(after)), list(&all, ledger.ScanSpan))
	return all, err
}
