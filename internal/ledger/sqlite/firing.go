package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

const (
	sqlFiringOutcome = `SELECT outcome FROM firing WHERE campaign = ? AND key = ?`
	sqlNoteFiring    = `INSERT INTO firing (campaign, key, at, missed, missed_since, since, outcome, detail, run)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (campaign, key) DO UPDATE SET since = excluded.since, outcome = excluded.outcome, detail = excluded.detail,
			run = excluded.run`
	sqlForgetFirings = `DELETE FROM firing WHERE campaign = ?1 AND outcome NOT IN ('launching', 'waiting', 'added')
		AND at < (SELECT at FROM firing WHERE campaign = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)`
)

// NoteFiring implements campaign.FiringLedger.
func (l *Ledger) NoteFiring(ctx context.Context, f campaign.Firing) (changed bool, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		var was campaign.FiringOutcome
		err := t.row(sqlFiringOutcome, args(f.Campaign, f.Key), &was)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var write bool
		if write, changed = ledger.FiringMoves(was, f.Outcome); !write {
			return nil
		}
		if _, err := t.exec(sqlNoteFiring, f.Campaign, f.Key, ledger.Millis(f.At), f.Missed, ledger.Millis(f.MissedSince),
			ledger.Millis(f.Since), string(f.Outcome), spelling.Clip(f.Detail, campaign.MaxDetail), int64(f.Run)); err != nil {
			return err
		}
		if _, err = t.exec(sqlForgetFirings, f.Campaign, ledger.FiringsKept-1); err != nil || !changed {
			return err
		}
		return t.notify(t.options.NotifyFiring(f, was, time.Now()))
	})
	return changed, err
}

const sqlFirings = `SELECT campaign, key, at, missed, missed_since, since, outcome, detail, run FROM firing`

// Firings implements campaign.FiringLedger.
func (l *Ledger) Firings(ctx context.Context, f campaign.FiringFilter) (all []campaign.Firing, err error) {
	clause, args := ledger.FiringClause(f, "?")
	err = l.read().each(ctx, sqlFirings+clause, args, list(&all, ledger.ScanFiring))
	return all, err
}
