package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

const sqlAddKey = `INSERT INTO operator_key (id, name, hash, scope, company, created_at, revoked_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`

// AddKey implements campaign.AccessLedger.
func (l *Ledger) AddKey(ctx context.Context, k campaign.OperatorKey) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		return t.do(stmt(nil, sqlAddKey, plainText(k.ID), plainText(k.Name), plainText(k.Hash), plainText(string(k.Scope)),
			plainText(k.Company), ledger.Millis(k.CreatedAt), ledger.Millis(k.RevokedAt)))
	})
}

const (
	sqlSelectOperatorKey = `SELECT id, name, hash, scope, company, created_at, revoked_at FROM operator_key `
	sqlOperatorKey       = sqlSelectOperatorKey + `WHERE id = $1`
	sqlOperatorKeys      = sqlSelectOperatorKey + `ORDER BY created_at DESC, id`
)

// Key implements campaign.AccessLedger.
func (l *Ledger) Key(ctx context.Context, id string) (campaign.OperatorKey, error) {
	var all []campaign.OperatorKey
	err := l.read(ctx, l.sender, list(&all, ledger.ScanKey, sqlOperatorKey, plainText(id)))
	return ledger.Only(all, err, ledger.NoKey(id))
}

// Keys implements campaign.AccessLedger.
func (l *Ledger) Keys(ctx context.Context) (all []campaign.OperatorKey, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanKey, sqlOperatorKeys))
	return all, err
}

const (
	sqlLockOperatorKey = sqlOperatorKey + ` FOR UPDATE`
	sqlRevokeKey       = `UPDATE operator_key SET revoked_at = $1 WHERE id = $2 AND revoked_at = 0`
)

// RevokeKey implements campaign.AccessLedger.
func (l *Ledger) RevokeKey(ctx context.Context, id string, at time.Time) (k campaign.OperatorKey, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		var found []campaign.OperatorKey
		err := t.do(list(&found, ledger.ScanKey, sqlLockOperatorKey, plainText(id)))
		if k, err = ledger.Only(found, err, ledger.NoKey(id)); err != nil {
			return err
		}
		if k.RevokedAt.IsZero() {
			k.RevokedAt = ledger.TimeOf(ledger.Millis(at))
		}
		return t.do(stmt(nil, sqlRevokeKey, ledger.Millis(at), plainText(id)))
	})
	if err != nil {
		return campaign.OperatorKey{}, err
	}
	return k, nil
}

const sqlNoteAction = `INSERT INTO action (id, at, who, what, target, detail) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`

// NoteAction implements campaign.AccessLedger.
func (l *Ledger) NoteAction(ctx context.Context, a campaign.Action) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		return t.do(stmt(nil, sqlNoteAction, plainText(a.ID), ledger.Millis(a.At), plainText(a.By), plainText(a.What),
			plainText(spelling.Clip(a.On, ledger.MaxAction)), plainText(spelling.Clip(a.Detail, ledger.MaxAction))))
	})
}

const sqlActions = `SELECT id, at, who, what, target, detail FROM action`

// Actions implements campaign.AccessLedger.
func (l *Ledger) Actions(ctx context.Context, f campaign.ActionFilter) (all []campaign.Action, err error) {
	f.BeforeID = plainText(f.BeforeID)
	clause, args := ledger.ActionClause(f, "$")
	err = l.read(ctx, l.sender, list(&all, ledger.ScanAction, sqlActions+clause, args...))
	return all, err
}
