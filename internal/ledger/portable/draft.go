package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlEndOldDrafts   = `DELETE FROM draft WHERE created_at < $1`
	sqlEndOtherDrafts = `DELETE FROM draft WHERE owner = $1 AND id NOT IN
	(SELECT id FROM draft WHERE owner = $1 ORDER BY created_at DESC, id LIMIT $2)`
	sqlAddDraft = `INSERT INTO draft (id, owner, campaign, source, list_name, list, run, created_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`
)

// AddDraft implements campaign.DraftLedger.
func (l *Ledger) AddDraft(ctx context.Context, d campaign.Draft, ended time.Time, most int) error {
	return l.db.Change(ctx, Sending, func(t Tx) error {
		if _, err := t.Exec(sqlEndOldDrafts, ledger.Millis(ended)); err != nil {
			return err
		}
		if _, err := t.Exec(sqlEndOtherDrafts, d.Owner, int64(most-1)); err != nil {
			return err
		}
		_, err := t.Exec(sqlAddDraft, d.ID, d.Owner, d.Campaign, d.Source, d.ListName, d.List, d.Run, ledger.Millis(d.CreatedAt))
		return err
	})
}

const (
	sqlSelectDraft = `SELECT id, owner, campaign, source, list_name, list, run, created_at FROM draft `
	sqlDraft       = sqlSelectDraft + `WHERE id = $1`
	sqlDrafts      = sqlSelectDraft + `WHERE owner = $1 ORDER BY created_at DESC, id`
)

// Draft implements campaign.DraftLedger.
func (l *Ledger) Draft(ctx context.Context, id string) (campaign.Draft, error) {
	all, err := list(ctx, l.db, Sending, ledger.ScanDraft, sqlDraft, id)
	return ledger.Only(all, err, campaign.ErrNoDraft)
}

// Drafts implements campaign.DraftLedger.
func (l *Ledger) Drafts(ctx context.Context, owner string) ([]campaign.Draft, error) {
	return list(ctx, l.db, Sending, ledger.ScanDraft, sqlDrafts, owner)
}

const sqlChangeDraft = `UPDATE draft SET source = $1, list_name = $2, list = $3,
	run = CASE WHEN run = '' THEN $4 ELSE run END WHERE id = $5`

// ChangeDraft implements campaign.DraftLedger.
func (l *Ledger) ChangeDraft(ctx context.Context, d campaign.Draft) error {
	n, err := l.exec(ctx, Sending, sqlChangeDraft, d.Source, d.ListName, d.List, d.Run, d.ID)
	if err == nil && n == 0 {
		return campaign.ErrNoDraft
	}
	return err
}
