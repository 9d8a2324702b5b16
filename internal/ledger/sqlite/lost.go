package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlAlive = `UPDATE ledger SET alive_at = ?1 WHERE alive_at < ?1 - ?2`
	// A ledger of before the column has its claims alone.
	sqlNewest = `SELECT coalesce(nullif(alive_at, 0), (SELECT max(intents_since) FROM segment), 0) FROM ledger`
)

// Newest returns the time of the newest record that cannot have been written after the ledger went
// back in time: a report of a sender, or a claim. Zero: there is none.
// Events do not count, because a process that only takes webhooks records them in a ledger that
// went back.
func (l *Ledger) Newest(ctx context.Context) (time.Time, error) {
	var at int64
	err := l.read().row(ctx, sqlNewest, nil, &at)
	return ledger.TimeOf(at), err
}

const (
	sqlInsertLost = `INSERT INTO lost_time (at, since) VALUES (?, ?) ON CONFLICT DO NOTHING`
	sqlLostTimes  = `SELECT at, since, asked FROM lost_time ORDER BY at DESC`
	sqlNoteReplay = `UPDATE lost_time SET asked = max(asked, ?3) WHERE at <= ?2 AND since >= ?1`
)

// LostTimes implements campaign.ListenLedger.
func (l *Ledger) LostTimes(ctx context.Context) (all []campaign.LostTime, err error) {
	err = l.read().each(ctx, sqlLostTimes, nil, list(&all, ledger.ScanLostTime))
	return all, err
}

// NoteReplay implements campaign.ListenLedger.
func (l *Ledger) NoteReplay(ctx context.Context, s campaign.Span, asked time.Time) error {
	return l.write(ctx, results, func(t *tx) error {
		_, err := t.exec(sqlNoteReplay, ledger.Millis(s.Since), ledger.Millis(s.Until), ledger.Millis(asked))
		return err
	})
}
