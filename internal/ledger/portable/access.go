package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

const sqlAddKey = `INSERT INTO operator_key (id, name, hash, scope, company, created_at, revoked_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`

// AddKey implements campaign.AccessLedger.
func (l *Ledger) AddKey(ctx context.Context, k campaign.OperatorKey) error {
	_, err := l.exec(ctx, Sending, sqlAddKey, k.ID, k.Name, k.Hash, string(k.Scope), k.Company, ledger.Millis(k.CreatedAt),
		ledger.Millis(k.RevokedAt))
	return err
}

const (
	sqlSelectOperatorKey = `SELECT id, name, hash, scope, company, created_at, revoked_at FROM operator_key `
	sqlOperatorKey       = sqlSelectOperatorKey + `WHERE id = $1`
	sqlOperatorKeys      = sqlSelectOperatorKey + `ORDER BY created_at DESC, id`
)

// Key implements campaign.AccessLedger.
func (l *Ledger) Key(ctx context.Context, id string) (campaign.OperatorKey, error) {
	all, err := list(ctx, l.db, Sending, ledger.ScanKey, sqlOperatorKey, id)
	return ledger.Only(all, err, ledger.NoKey(id))
}

// Keys implements campaign.AccessLedger.
func (l *Ledger) Keys(ctx context.Context) ([]campaign.OperatorKey, error) {
	return list(ctx, l.db, Sending, ledger.ScanKey, sqlOperatorKeys)
}

const sqlRevokeKey = `UPDATE operator_key SET revoked_at = $1 WHERE id = $2 AND revoked_at = 0`

// RevokeKey implements campaign.AccessLedger.
func (l *Ledger) RevokeKey(ctx context.Context, id string, at time.Time) (k campaign.OperatorKey, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		var found []campaign.OperatorKey
		err := t.Lock(add(&found, ledger.ScanKey), sqlOperatorKey, id)
		if k, err = ledger.Only(found, err, ledger.NoKey(id)); err != nil {
			return err
		}
		if k.RevokedAt.IsZero() {
			k.RevokedAt = ledger.TimeOf(ledger.Millis(at))
		}
		_, err = t.Exec(sqlRevokeKey, ledger.Millis(at), id)
		return err
	})
	if err != nil {
		return campaign.OperatorKey{}, err
	}
	return k, nil
}

const sqlNoteAction = `INSERT INTO action (id, at, who, what, target, detail) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (id) DO UPDATE SET detail = excluded.detail`

// NoteAction implements campaign.AccessLedger.
func (l *Ledger) NoteAction(ctx context.Context, a campaign.Action) error {
	_, err := l.exec(ctx, Sending, sqlNoteAction, a.ID, ledger.Millis(a.At), a.By, a.What, sentence.Clip(a.On, ledger.MaxAction),
		sentence.Clip(a.Detail, ledger.MaxAction))
	return err
}

const sqlActions = `SELECT id, at, who, what, target, detail FROM action`

// Actions implements campaign.AccessLedger.
func (l *Ledger) Actions(ctx context.Context, f campaign.ActionFilter) ([]campaign.Action, error) {
	clause, args := ledger.ActionClause(f)
	return list(ctx, l.db, Sending, ledger.ScanAction, sqlActions+clause, args...)
}
