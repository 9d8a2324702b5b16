package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

const sqlAddKey = `INSERT INTO operator_key (id, name, hash, scope, company, created_at, revoked_at)
	VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

// AddKey implements campaign.AccessLedger.
func (l *Ledger) AddKey(ctx context.Context, k campaign.OperatorKey) error {
	return l.write(ctx, results, func(t *tx) error {
		_, err := t.exec(sqlAddKey, k.ID, k.Name, k.Hash, string(k.Scope), k.Company, ledger.Millis(k.CreatedAt), ledger.Millis(k.RevokedAt))
		return err
	})
}

const (
	sqlSelectOperatorKey = `SELECT id, name, hash, scope, company, created_at, revoked_at FROM operator_key `
	sqlOperatorKey       = sqlSelectOperatorKey + `WHERE id = ?`
	sqlOperatorKeys      = sqlSelectOperatorKey + `ORDER BY created_at DESC, id`
)

// Key implements campaign.AccessLedger.
func (l *Ledger) Key(ctx context.Context, id string) (campaign.OperatorKey, error) {
	all, err := l.keys(ctx, sqlOperatorKey, args(id))
	return ledger.Only(all, err, ledger.NoKey(id))
}

// Keys implements campaign.AccessLedger.
func (l *Ledger) Keys(ctx context.Context) ([]campaign.OperatorKey, error) {
	return l.keys(ctx, sqlOperatorKeys, nil)
}

func (l *Ledger) keys(ctx context.Context, query string, args []any) (all []campaign.OperatorKey, err error) {
	err = l.read().each(ctx, query, args, list(&all, ledger.ScanKey))
	return all, err
}

const sqlRevokeKey = `UPDATE operator_key SET revoked_at = ? WHERE id = ? AND revoked_at = 0`

// RevokeKey implements campaign.AccessLedger.
func (l *Ledger) RevokeKey(ctx context.Context, id string, at time.Time) (k campaign.OperatorKey, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		var found []campaign.OperatorKey
		err := t.each(sqlOperatorKey, args(id), list(&found, ledger.ScanKey))
		if k, err = ledger.Only(found, err, ledger.NoKey(id)); err != nil {
			return err
		}
		if k.RevokedAt.IsZero() {
			k.RevokedAt = ledger.TimeOf(ledger.Millis(at))
		}
		_, err = t.exec(sqlRevokeKey, ledger.Millis(at), id)
		return err
	})
	if err != nil {
		return campaign.OperatorKey{}, err
	}
	return k, nil
}

const sqlNoteAction = `INSERT INTO action (id, at, who, what, target, detail) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

// NoteAction implements campaign.AccessLedger.
func (l *Ledger) NoteAction(ctx context.Context, a campaign.Action) error {
	return l.write(ctx, results, func(t *tx) error {
		_, err := t.exec(sqlNoteAction, a.ID, ledger.Millis(a.At), a.By, a.What, spelling.Clip(a.On, ledger.MaxAction),
			spelling.Clip(a.Detail, ledger.MaxAction))
		return err
	})
}

const sqlActions = `SELECT id, at, who, what, target, detail FROM action`

// Actions implements campaign.AccessLedger.
func (l *Ledger) Actions(ctx context.Context, f campaign.ActionFilter) (all []campaign.Action, err error) {
	clause, args := ledger.ActionClause(f, "?")
	err = l.read().each(ctx, sqlActions+clause, args, list(&all, ledger.ScanAction))
	return all, err
}
