package portable

import (
	"context"
	"iter"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const sqlSuppressions = `SELECT ` + ledger.SuppressionColumns + ` FROM suppression s
	WHERE (s.key, s.scope) > ($1, $2) ORDER BY s.key, s.scope LIMIT $3`

// Suppressions implements campaign.SuppressionLedger.
func (l *Ledger) Suppressions(ctx context.Context) iter.Seq2[campaign.Suppression, error] {
	return ledger.Pages(ledger.SuppressionPage, func(last *campaign.Suppression) ([]campaign.Suppression, error) {
		key, scope := int64(0), "" // an erased number has a key below 0, and nobody can read it
		if last != nil {
			key, scope = last.Key, last.ScopeText()
		}
		return list(ctx, l.db, Reports, ledger.ScanSuppression, sqlSuppressions, key, scope, ledger.SuppressionPage)
	})
}

const sqlSuppressionsOf = `SELECT ` + ledger.SuppressionColumns + ` FROM suppression s
	WHERE s.key IN ($1, $2, $3, $4) AND s.key <> 0 ORDER BY s.scope`

// SuppressionsOf implements campaign.SuppressionLedger.
func (l *Ledger) SuppressionsOf(ctx context.Context, key int64) ([]campaign.Suppression, error) {
	of := append(l.db.Hash().Stored(key), 0, 0)
	return list(ctx, l.db, Reports, func(scan Scan) (campaign.Suppression, error) {
		s, err := ledger.ScanSuppression(scan)
		s.Key = key
		return s, err
	}, sqlSuppressionsOf, of[0], of[1], of[2], of[3])
}

const (
	sqlOptOuts    = `SELECT count(*) FROM suppression WHERE at >= $1 AND ` + ledger.IsOptOut
	sqlRunOptOuts = `SELECT count(*) FROM delivery d WHERE d.rid >= $1 AND d.rid < $2
		AND d.key IN (SELECT key FROM suppression WHERE at >= $3 AND ` + ledger.IsOptOut + `)
		AND EXISTS (SELECT 1 FROM outcome o WHERE o.rid = d.rid AND o.state <> 7 /* skipped */)`
)

// OptOuts implements campaign.SuppressionLedger.
func (l *Ledger) OptOuts(ctx context.Context, no campaign.RunNo, since time.Time) (n int64, err error) {
	if no == 0 {
		_, err = l.row(ctx, Reports, []any{&n}, sqlOptOuts, ledger.Millis(since))
		return n, err
	}
	_, err = l.row(ctx, Reports, []any{&n}, sqlRunOptOuts, ledger.RowID(no, 0), ledger.RowID(no+1, 0), ledger.Millis(since))
	return n, err
}

const sqlCountWishes = `SELECT count(*), coalesce(min(received), 0), coalesce((SELECT user_id FROM wish ORDER BY received LIMIT 1), '')
	FROM wish`

// Unattributed implements campaign.SuppressionLedger.
func (l *Ledger) Unattributed(ctx context.Context) (u campaign.Unattributed, err error) {
	var since int64
	_, err = l.row(ctx, Reports, []any{&u.N, &since, &u.UserID}, sqlCountWishes)
	u.Since = ledger.TimeOf(since)
	return u, err
}

const (
	// An opt-in that is delivered again, or after a later one, lifts nothing.
	sqlLift = `DELETE FROM suppression WHERE key IN ($1, $4) AND scope = $2 AND at <= $3
		AND NOT EXISTS (SELECT 1 FROM opt_in WHERE key IN ($1, $4) AND scope = $2 AND at >= $3)`
	sqlOptIn = `INSERT INTO opt_in (key, scope, at) VALUES ($1, $2, $3)
		ON CONFLICT (key, scope) DO UPDATE SET at = greatest(opt_in.at, excluded.at)`
)

// Lift deletes the suppression that an opt-in ends, and stores the opt-in if it is to be
// remembered.
func Lift(t Tx, s campaign.Suppression) error {
	s, remember := ledger.OptIn(s)
	err := t.Last(sqlLift, s.Key, s.ScopeText(), ledger.Millis(s.At), recipients.Other(s.Key))
	if err != nil || !remember {
		return err
	}
	return t.Last(sqlOptIn, s.Key, s.ScopeText(), ledger.Millis(s.At))
}
