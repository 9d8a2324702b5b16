package portable

import (
	"context"
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
)

const (
	sqlListen = `INSERT INTO listening (since, until) VALUES ($1, $2)
		ON CONFLICT (since) DO UPDATE SET until = greatest(listening.until, excluded.until)`
	sqlForgetListening = `DELETE FROM listening WHERE until < $1`
	sqlListened        = `SELECT since, until FROM listening WHERE until > $1`
)

// Listen implements reception.ListenLedger. It forgets what is older than reception.ListenKept.
func (l *Ledger) Listen(ctx context.Context, s reception.Span) error {
	return l.db.Change(ctx, Webhooks, func(t Tx) error {
		if _, err := t.Exec(sqlListen, ledger.Millis(s.Since), ledger.Millis(s.Until)); err != nil {
			return err
		}
		_, err := t.Exec(sqlForgetListening, ledger.Millis(s.Until.Add(-reception.ListenKept)))
		return err
	})
}

// Listened implements reception.ListenLedger.
func (l *Ledger) Listened(ctx context.Context, after time.Time) ([]reception.Span, error) {
	return list(ctx, l.db, Sending, ledger.ScanSpan, sqlListened, ledger.Millis(after))
}

const (
	sqlLostTimes  = `SELECT at, since, asked, deliveries, came FROM lost_time ORDER BY at DESC`
	sqlNoteReplay = `UPDATE lost_time SET asked = greatest(asked, $3),
			deliveries = greatest(deliveries, CASE WHEN $3 = 0 THEN came ELSE 0 END) + $4
		WHERE at <= $2 AND since >= $1`
	sqlCountReplayed = `UPDATE lost_time SET came = came + $2 WHERE at = $1`
	// A ledger of before the column has its claims alone.
	sqlNewest = `SELECT coalesce(nullif(alive_at, 0), (SELECT max(intents_since) FROM segment), 0) FROM ledger WHERE one = 1`
)

// LostTimes implements reception.ListenLedger.
func (l *Ledger) LostTimes(ctx context.Context) ([]reception.LostTime, error) {
	return list(ctx, l.db, Sending, ledger.ScanLostTime, sqlLostTimes)
}

// NoteReplay implements reception.ListenLedger.
func (l *Ledger) NoteReplay(ctx context.Context, s reception.Span, asked time.Time, deliveries int64) error {
	_, err := l.exec(ctx, Webhooks, sqlNoteReplay, ledger.Millis(s.Since), ledger.Millis(s.Until), ledger.Millis(asked), deliveries)
	return err
}

// CountReplayed implements reception.ListenLedger.
func (l *Ledger) CountReplayed(ctx context.Context, at time.Time, n int64) error {
	_, err := l.exec(ctx, Webhooks, sqlCountReplayed, ledger.Millis(at), n)
	return err
}

// Newest returns the time of the newest record that cannot have been written after the ledger went
// back in time: a report of a sender, or a claim. Zero: there is none.
// Results, events and lanes do not count, because processes go on recording these in a ledger that
// went back.
func (l *Ledger) Newest(ctx context.Context) (time.Time, error) {
	var at int64
	_, err := l.row(ctx, Reports, []any{&at}, sqlNewest)
	return ledger.TimeOf(at), err
}
