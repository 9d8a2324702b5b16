package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

const (
	sqlFiringOutcome = `SELECT outcome FROM firing WHERE campaign = $1 AND key = $2`
	sqlNoteFiring    = `INSERT INTO firing (campaign, key, at, missed, missed_since, since, outcome, detail, run)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (campaign, key) DO UPDATE SET since = excluded.since, outcome = excluded.outcome, detail = excluded.detail,
			run = excluded.run WHERE firing.outcome IN ('launching', 'waiting')`
	// Records of times to come, of a clock that was ahead, take no place of the others.
	sqlForgetFirings = `DELETE FROM firing WHERE campaign = $1 AND outcome NOT IN ('launching', 'waiting', 'added')
		AND at < (SELECT at FROM firing WHERE campaign = $1 AND at <= ledger_now() ORDER BY at DESC LIMIT 1 OFFSET $2)`
)

// NoteFiring implements campaign.FiringLedger.
func (l *Ledger) NoteFiring(ctx context.Context, f campaign.Firing) (changed bool, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		var was string
		if _, err := one(t.Lock, []any{&was}, sqlFiringOutcome, f.Campaign, f.Key); err != nil {
			return err
		}
		var write bool
		if write, changed = ledger.FiringMoves(campaign.FiringOutcome(was), f.Outcome); !write {
			return nil
		}
		n, err := t.Exec(sqlNoteFiring, f.Campaign, f.Key, ledger.Millis(f.At), f.Missed, ledger.Millis(f.MissedSince),
			ledger.Millis(f.Since), string(f.Outcome), sentence.Clip(f.Detail, campaign.MaxDetail), int64(f.Run))
		if err != nil {
			return err
		}
		changed = changed && n > 0 // n is 0 if another replica gave it a final outcome meanwhile
		if _, err = t.Exec(sqlForgetFirings, f.Campaign, ledger.FiringsKept-1); err != nil || !changed {
			return err
		}
		return Notify(t, l.options.NotifyFiring(f, campaign.FiringOutcome(was), time.Now()))
	})
	return changed, err
}

const sqlFirings = `SELECT campaign, key, at, missed, missed_since, since, outcome, detail, run FROM firing`

// Firings implements campaign.FiringLedger.
func (l *Ledger) Firings(ctx context.Context, f campaign.FiringFilter) ([]campaign.Firing, error) {
	clause, args := ledger.FiringClause(f)
	return list(ctx, l.db, Sending, ledger.ScanFiring, sqlFirings+clause, args...)
}

const sqlLastMissed = `SELECT coalesce(max(since), 0) FROM firing WHERE outcome IN ('missed', 'failed')`

// LastMissed implements campaign.FiringLedger.
func (l *Ledger) LastMissed(ctx context.Context) (time.Time, error) {
	var at int64
	_, err := l.row(ctx, Reports, []any{&at}, sqlLastMissed)
	return ledger.TimeOf(at), err
}

const sqlClock = `SELECT ledger_now()`

// Clock implements campaign.FiringLedger.
func (l *Ledger) Clock(ctx context.Context) (time.Time, error) {
	var now int64
	_, err := l.row(ctx, Sending, []any{&now}, sqlClock)
	return ledger.TimeOf(now), err
}
