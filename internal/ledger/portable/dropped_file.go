package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

// sqlDroppedFiles is the head of every query whose rows ledger.ScanDroppedFile reads.
const sqlDroppedFiles = `SELECT no, bucket, key, etag, size, campaign, hash, state, run, place, detail, taken_at, next_at, sidecar
	FROM dropped_file`

const (
	sqlClaimFile = `INSERT INTO dropped_file (bucket, key, etag, size, campaign, hash, state, run, place, detail, taken_at, next_at)
		VALUES ($1, $2, $3, $4, $5, '', 'claimed', 0, '', '', $6, $7)
		ON CONFLICT (bucket, key, etag) DO UPDATE SET campaign = excluded.campaign, hash = '', state = 'claimed', detail = '',
			taken_at = excluded.taken_at, next_at = excluded.next_at, sidecar = '' WHERE dropped_file.state = 'gone'`
	sqlDroppedVersion = sqlDroppedFiles + ` WHERE bucket = $1 AND key = $2 AND etag = $3`
	sqlSameContent    = `SELECT o.no FROM dropped_file o JOIN dropped_file f ON f.no = $1 WHERE o.campaign = f.campaign AND o.hash = $2
		AND o.hash <> '' AND o.no <> $1 AND o.state NOT IN ('rejected', 'gone') LIMIT 1`
	sqlFileState  = `SELECT state FROM dropped_file WHERE no = $1`
	sqlUpdateFile = `UPDATE dropped_file SET hash = $1, state = $2, run = $3, place = $4, detail = $5, next_at = $6, sidecar = $7
		WHERE no = $8`
)

// ClaimFile implements campaign.DropLedger.
func (l *Ledger) ClaimFile(ctx context.Context, f campaign.DroppedFile) (out campaign.DroppedFile, claimed bool, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		n, err := t.Exec(sqlClaimFile, f.Bucket, f.Key, f.ETag, f.Size, f.Campaign, ledger.Millis(f.TakenAt), ledger.Millis(f.NextAt))
		if err != nil {
			return err
		}
		claimed = n > 0
		return t.Each(func(scan Scan) (err error) {
			out, err = ledger.ScanDroppedFile(scan)
			return err
		}, sqlDroppedVersion, f.Bucket, f.Key, f.ETag)
	})
	if err != nil {
		return campaign.DroppedFile{}, false, err
	}
	return out, claimed, nil
}

// UpdateFile implements campaign.DropLedger. Two replicas that give two files the same content at
// once meet at the index dropped_file_content, which PostgreSQL's DB tells as ErrSameContent too.
func (l *Ledger) UpdateFile(ctx context.Context, f campaign.DroppedFile) error {
	return l.db.Change(ctx, Sending, func(t Tx) error {
		if f.State != campaign.DropRejected && f.State != campaign.DropGone {
			var other int64
			same, err := one(t.Each, []any{&other}, sqlSameContent, f.No, f.Hash)
			if err == nil && same {
				err = campaign.ErrSameContent
			}
			if err != nil {
				return err
			}
		}
		if l.options.TellsRejected(f) {
			var was string
			if found, err := one(t.Lock, []any{&was}, sqlFileState, f.No); err != nil || !found {
				return err
			}
			if err := Notify(t, l.options.NotifyRejected(f, campaign.DropState(was), time.Now())); err != nil {
				return err
			}
		}
		_, err := t.Exec(sqlUpdateFile, f.Hash, string(f.State), int64(f.Run), f.Place, sentence.Clip(f.Detail, campaign.MaxDetail),
			ledger.Millis(f.NextAt), f.Sidecar, f.No)
		return err
	})
}

// DroppedFiles implements campaign.DropLedger.
func (l *Ledger) DroppedFiles(ctx context.Context, f campaign.DropFilter) ([]campaign.DroppedFile, error) {
	clause, args := ledger.DropClause(f)
	return list(ctx, l.db, Sending, ledger.ScanDroppedFile, sqlDroppedFiles+clause, args...)
}

const (
	sqlForgetWaits = `DELETE FROM drop_wait WHERE bucket = $1 AND prefix = $2`
	sqlNoteWait    = `INSERT INTO drop_wait (bucket, prefix, key, reason, since) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (bucket, prefix, key) DO UPDATE SET reason = excluded.reason, since = excluded.since`
	sqlDropWaits = `SELECT bucket, prefix, key, reason, since FROM drop_wait ORDER BY bucket, prefix, key` //nolint:gosec // no credentials
)

// NoteWaits implements campaign.DropLedger.
func (l *Ledger) NoteWaits(ctx context.Context, bucket, prefix string, waits []campaign.DropWait) error {
	return l.db.Change(ctx, Sending, func(t Tx) error {
		if _, err := t.Exec(sqlForgetWaits, bucket, prefix); err != nil {
			return err
		}
		for _, w := range waits {
			reason := sentence.Clip(w.Reason, campaign.MaxDetail)
			if _, err := t.Exec(sqlNoteWait, bucket, prefix, w.Key, reason, ledger.Millis(w.Since)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropWaits implements campaign.DropLedger.
func (l *Ledger) DropWaits(ctx context.Context) ([]campaign.DropWait, error) {
	return list(ctx, l.db, Sending, ledger.ScanDropWait, sqlDropWaits)
}
