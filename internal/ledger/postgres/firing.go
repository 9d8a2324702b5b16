package postgres

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"

	"github.com/jackc/pgx/v5"
)

const (
	sqlFiringOutcome = `SELECT outcome FROM firing WHERE campaign = $1 AND key = $2 FOR UPDATE`
	sqlNoteFiring    = `INSERT INTO firing (campaign, key, at, missed, missed_since, since, outcome, detail, run)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (campaign, key) DO UPDATE SET since = excluded.since, outcome = excluded.outcome, detail = excluded.detail,
			run = excluded.run WHERE firing.outcome IN ('launching', 'waiting')`
	sqlForgetFirings = `DELETE FROM firing WHERE campaign = $1 AND outcome NOT IN ('launching', 'waiting', 'added')
		AND at < (SELECT at FROM firing WHERE campaign = $1 ORDER BY at DESC LIMIT 1 OFFSET $2)`
)

// NoteFiring implements campaign.FiringLedger.
func (l *Ledger) NoteFiring(ctx context.Context, f campaign.Firing) (changed bool, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		var was string
		err := t.do(row(&was, sqlFiringOutcome, plainText(f.Campaign), plainText(f.Key)))
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		var write bool
		if write, changed = ledger.FiringMoves(campaign.FiringOutcome(was), f.Outcome); !write {
			return nil
		}
		var n int64
		if err := t.do(stmt(&n, sqlNoteFiring, plainText(f.Campaign), plainText(f.Key), ledger.Millis(f.At), f.Missed,
			ledger.Millis(f.MissedSince), ledger.Millis(f.Since), string(f.Outcome),
			plainText(spelling.Clip(f.Detail, campaign.MaxDetail)), int64(f.Run))); err != nil {
			return err
		}
		changed = changed && n > 0 // n is 0 if another replica gave it a final outcome meanwhile
		qs := []*query{stmt(nil, sqlForgetFirings, plainText(f.Campaign), ledger.FiringsKept-1)}
		if changed {
			qs = append(qs, notify(t.options.NotifyFiring(f, campaign.FiringOutcome(was), time.Now()))...)
		}
		return t.do(qs...)
	})
	return changed, err
}

const sqlFirings = `SELECT campaign, key, at, missed, missed_since, since, outcome, detail, run FROM firing`

// Firings implements campaign.FiringLedger.
func (l *Ledger) Firings(ctx context.Context, f campaign.FiringFilter) (all []campaign.Firing, err error) {
	clause, args := ledger.FiringClause(f, "$")
	err = l.read(ctx, l.sender, list(&all, ledger.ScanFiring, sqlFirings+clause, args...))
	return all, err
}
