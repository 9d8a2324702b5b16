package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	// sqlAlive writes nothing on a server that the ledger does not know, so it needs nobody who has
	// noticed the promotion.
	sqlAlive = `UPDATE ledger SET alive_at = ledger_now() WHERE one = 1 AND alive_at < ledger_now() - $1::bigint
		AND (system, timeline) = (` + sqlServer + `)`
	// A ledger of before the column has its claims alone.
	sqlNewest = `SELECT coalesce(nullif(alive_at, 0), (SELECT max(intents_since) FROM segment), 0) FROM ledger WHERE one = 1`
)

// Newest returns the time of the newest record that cannot have been written after the ledger went
// back in time: a report of a sender, or a claim. Zero: there is none.
// Results, events and lanes do not count, because processes go on recording these in a ledger that
// went back.
func (l *Ledger) Newest(ctx context.Context) (time.Time, error) {
	var at int64
	err := l.read(ctx, l.reports, row(&at, sqlNewest))
	return ledger.TimeOf(at), err
}

const (
	sqlInsertLost = `INSERT INTO lost_time (at, since) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	sqlLostTimes  = `SELECT at, since, asked FROM lost_time ORDER BY at DESC`
	sqlNoteReplay = `UPDATE lost_time SET asked = greatest(asked, $3) WHERE at <= $2 AND since >= $1`
)

// LostTimes implements campaign.ListenLedger.
func (l *Ledger) LostTimes(ctx context.Context) (all []campaign.LostTime, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanLostTime, sqlLostTimes))
	return all, err
}

// NoteReplay implements campaign.ListenLedger.
func (l *Ledger) NoteReplay(ctx context.Context, s campaign.Span, asked time.Time) error {
	return l.change(ctx, l.hooks, "", func(t *tx) error {
		t.last(stmt(nil, sqlNoteReplay, ledger.Millis(s.Since), ledger.Millis(s.Until), ledger.Millis(asked)))
		return nil
	})
}
