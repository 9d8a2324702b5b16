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

// sqlDroppedFiles is the head of every query whose rows ledger.ScanDroppedFile reads.
const sqlDroppedFiles = `SELECT no, bucket, key, etag, size, campaign, hash, state, run, place, detail, taken_at, next_at FROM dropped_file`

const (
	sqlClaimFile = `INSERT INTO dropped_file (bucket, key, etag, size, campaign, hash, state, run, place, detail, taken_at, next_at)
		VALUES (?, ?, ?, ?, ?, '', 'claimed', 0, '', '', ?, ?)
		ON CONFLICT (bucket, key, etag) DO UPDATE SET campaign = excluded.campaign, hash = '', state = 'claimed', detail = '',
			taken_at = excluded.taken_at, next_at = excluded.next_at WHERE state = 'gone'`
	sqlDroppedVersion = sqlDroppedFiles + ` WHERE bucket = ? AND key = ? AND etag = ?`
	sqlSameContent    = `SELECT o.no FROM dropped_file o JOIN dropped_file f ON f.no = ?1 WHERE o.campaign = f.campaign AND o.hash = ?2
		AND o.hash <> '' AND o.no <> ?1 AND o.state NOT IN ('rejected', 'gone') LIMIT 1`
	sqlFileState  = `SELECT state FROM dropped_file WHERE no = ?`
	sqlUpdateFile = `UPDATE dropped_file SET hash = ?, state = ?, run = ?, place = ?, detail = ?, next_at = ? WHERE no = ?`
)

// ClaimFile implements campaign.DropLedger.
func (l *Ledger) ClaimFile(ctx context.Context, f campaign.DroppedFile) (out campaign.DroppedFile, claimed bool, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		n, err := t.exec(sqlClaimFile, f.Bucket, f.Key, f.ETag, f.Size, f.Campaign, ledger.Millis(f.TakenAt), ledger.Millis(f.NextAt))
		if err != nil {
			return err
		}
		claimed = n > 0
		return t.each(sqlDroppedVersion, args(f.Bucket, f.Key, f.ETag), func(scan scanFunc) (err error) {
			out, err = ledger.ScanDroppedFile(scan)
			return err
		})
	})
	if err != nil {
		return campaign.DroppedFile{}, false, err
	}
	return out, claimed, nil
}

// UpdateFile implements campaign.DropLedger.
func (l *Ledger) UpdateFile(ctx context.Context, f campaign.DroppedFile) error {
	return l.write(ctx, results, func(t *tx) error {
		if f.State != campaign.DropRejected && f.State != campaign.DropGone {
			var other int64
			switch err := t.row(sqlSameContent, args(f.No, f.Hash), &other); {
			case err == nil:
				return campaign.ErrSameContent
			case !errors.Is(err, sql.ErrNoRows):
				return err
			}
		}
		if t.options.TellsRejected(f) {
			var was campaign.DropState
			if err := t.row(sqlFileState, args(f.No), &was); err != nil {
				return err
			}
			if err := t.notify(t.options.NotifyRejected(f, was, time.Now())); err != nil {
				return err
			}
		}
		_, err := t.exec(sqlUpdateFile, f.Hash, string(f.State), int64(f.Run), f.Place, spelling.Clip(f.Detail, campaign.MaxDetail),
			ledger.Millis(f.NextAt), f.No)
		return err
	})
}

// DroppedFiles implements campaign.DropLedger.
func (l *Ledger) DroppedFiles(ctx context.Context, f campaign.DropFilter) (all []campaign.DroppedFile, err error) {
	clause, args := ledger.DropClause(f, "?")
	err = l.read().each(ctx, sqlDroppedFiles+clause, args, list(&all, ledger.ScanDroppedFile))
	return all, err
}

const (
	sqlForgetWaits = `DELETE FROM drop_wait WHERE bucket = ? AND prefix = ?`
	sqlNoteWait    = `INSERT INTO drop_wait (bucket, prefix, key, reason, since) VALUES (?, ?, ?, ?, ?)`
	sqlDropWaits   = `SELECT bucket, prefix, key, reason, since FROM drop_wait ORDER BY bucket, prefix, key` //nolint:gosec // no credentials
)

// NoteWaits implements campaign.DropLedger.
func (l *Ledger) NoteWaits(ctx context.Context, bucket, prefix string, waits []campaign.DropWait) error {
	return l.write(ctx, results, func(t *tx) error {
		if _, err := t.exec(sqlForgetWaits, bucket, prefix); err != nil {
			return err
		}
		for _, w := range waits {
			reason := spelling.Clip(w.Reason, campaign.MaxDetail)
			if _, err := t.exec(sqlNoteWait, bucket, prefix, w.Key, reason, ledger.Millis(w.Since)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropWaits implements campaign.DropLedger.
func (l *Ledger) DropWaits(ctx context.Context) (all []campaign.DropWait, err error) {
	err = l.read().each(ctx, sqlDropWaits, nil, list(&all, ledger.ScanDropWait))
	return all, err
}
