package postgres

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqlDroppedFiles is the head of every query whose rows ledger.ScanDroppedFile reads.
const sqlDroppedFiles = `SELECT no, bucket, key, etag, size, campaign, hash, state, run, place, detail, taken_at, next_at FROM dropped_file`

const (
	sqlClaimFile = `INSERT INTO dropped_file (bucket, key, etag, size, campaign, hash, state, run, place, detail, taken_at, next_at)
		VALUES ($1, $2, $3, $4, $5, '', 'claimed', 0, '', '', $6, $7)
		ON CONFLICT (bucket, key, etag) DO UPDATE SET campaign = excluded.campaign, hash = '', state = 'claimed', detail = '',
			taken_at = excluded.taken_at, next_at = excluded.next_at WHERE dropped_file.state = 'gone'`
	sqlDroppedVersion = sqlDroppedFiles + ` WHERE bucket = $1 AND key = $2 AND etag = $3`
	sqlFileState      = `SELECT state FROM dropped_file WHERE no = $1 FOR UPDATE`
	sqlUpdateFile     = `UPDATE dropped_file SET hash = $1, state = $2, run = $3, place = $4, detail = $5, next_at = $6 WHERE no = $7`
)

// ClaimFile implements campaign.DropLedger.
func (l *Ledger) ClaimFile(ctx context.Context, f campaign.DroppedFile) (out campaign.DroppedFile, claimed bool, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		var n int64
		var found []campaign.DroppedFile
		bucket, key, etag := plainText(f.Bucket), plainText(f.Key), plainText(f.ETag)
		if err := t.do(stmt(&n, sqlClaimFile, bucket, key, etag, f.Size, plainText(f.Campaign), ledger.Millis(f.TakenAt),
			ledger.Millis(f.NextAt)), list(&found, ledger.ScanDroppedFile, sqlDroppedVersion, bucket, key, etag)); err != nil {
			return err
		}
		claimed = n > 0
		for _, out = range found {
		}
		return nil
	})
	if err != nil {
		return campaign.DroppedFile{}, false, err
	}
	return out, claimed, nil
}

// UpdateFile implements campaign.DropLedger.
func (l *Ledger) UpdateFile(ctx context.Context, f campaign.DroppedFile) error {
	err := l.change(ctx, l.sender, "", func(t *tx) error {
		if t.options.TellsRejected(f) {
			var was string
			if err := t.do(row(&was, sqlFileState, f.No)); err != nil {
				return err
			}
			t.last(notify(t.options.NotifyRejected(f, campaign.DropState(was), time.Now()))...)
		}
		return t.do(stmt(nil, sqlUpdateFile, f.Hash, string(f.State), int64(f.Run), plainText(f.Place),
			plainText(spelling.Clip(f.Detail, campaign.MaxDetail)), ledger.Millis(f.NextAt), f.No))
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.ConstraintName == "dropped_file_content" {
		return campaign.ErrSameContent
	}
	return err
}

// DroppedFiles implements campaign.DropLedger.
func (l *Ledger) DroppedFiles(ctx context.Context, f campaign.DropFilter) (all []campaign.DroppedFile, err error) {
	clause, args := ledger.DropClause(f, "$")
	err = l.read(ctx, l.sender, list(&all, ledger.ScanDroppedFile, sqlDroppedFiles+clause, args...))
	return all, err
}

const (
	sqlForgetWaits = `DELETE FROM drop_wait WHERE bucket = $1 AND prefix = $2`
	sqlNoteWait    = `INSERT INTO drop_wait (bucket, prefix, key, reason, since) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (bucket, prefix, key) DO UPDATE SET reason = excluded.reason, since = excluded.since`
	sqlDropWaits = `SELECT bucket, prefix, key, reason, since FROM drop_wait ORDER BY bucket, prefix, key` //nolint:gosec // no credentials
)

// NoteWaits implements campaign.DropLedger.
func (l *Ledger) NoteWaits(ctx context.Context, bucket, prefix string, waits []campaign.DropWait) error {
	bucket, prefix = plainText(bucket), plainText(prefix)
	return l.change(ctx, l.sender, "", func(t *tx) error {
		all := []*query{stmt(nil, sqlForgetWaits, bucket, prefix)}
		for _, w := range waits {
			all = append(all, stmt(nil, sqlNoteWait, bucket, prefix, plainText(w.Key),
				plainText(spelling.Clip(w.Reason, campaign.MaxDetail)), ledger.Millis(w.Since)))
		}
		return t.do(all...)
	})
}

// DropWaits implements campaign.DropLedger.
func (l *Ledger) DropWaits(ctx context.Context) (all []campaign.DropWait, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanDropWait, sqlDropWaits))
	return all, err
}
