package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
)

const (
	sqlOldDoubts = `SELECT rid, flags FROM outcome INDEXED BY outcome_open
		WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3) /* open */ AND state = 3 /* in doubt */ AND result_at >= ? AND result_at < ?`
	sqlEndDoubt = `UPDATE outcome SET state = 4 /* unknown */ WHERE rid = ?`
	sqlResend   = `UPDATE outcome SET state = 1 /* deferred */, flags = flags | 2 /* may be a duplicate */, next_due = ? WHERE rid = ?`
)

// Resolve implements campaign.SendLedger.
func (l *Ledger) Resolve(ctx context.Context, lease campaign.Lease, began reception.Span, p campaign.OnUncertain) (n int, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: 64, run: func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		var ended ledger.Resolved
		within := args(s.First(), s.End(), ledger.Millis(began.Since), ledger.Millis(began.Until))
		if err := t.each(sqlOldDoubts, within, func(scan scanFunc) error {
			var rid, flags int64
			err := scan(&rid, &flags)
			ended.Doubt(p, rid, flags)
			return err
		}); err != nil {
			return err
		}
		t.recount(s.First())
		now := ledger.Millis(time.Now())
		for _, rid := range ended.Resend {
			if _, err := t.exec(sqlResend, now, rid); err != nil {
				return err
			}
		}
		for _, rid := range ended.Unknown {
			if _, err := t.exec(sqlEndDoubt, rid); err != nil {
				return err
			}
		}
		n = len(ended.Resend) + len(ended.Unknown)
		return nil
	}})
	if err != nil {
		return 0, err
	}
	return n, nil
}

const (
	sqlSkipQueued = `INSERT INTO outcome (rid, state, code, result_at) SELECT d.rid, 7 /* skipped */, ?3, ?4
		FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid WHERE d.rid >= ?1 AND d.rid < ?2 AND o.rid IS NULL`
	sqlSkipDeferred = `UPDATE outcome SET ` + ledger.SkippedState + `, code = ?3, result_at = ?4, next_due = 0
		WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3) /* open */ AND state = 1 /* deferred */ AND (attempt = 0 OR ?5)`
	sqlMarkEnd = `UPDATE segment SET mark = hi WHERE id = ?`
)

// SkipQueued implements campaign.SendLedger. It moves the mark to the segment's end, because every
// delivery above it has an outcome now. Park then finds the segment done, unless retries are left.
func (l *Ledger) SkipQueued(ctx context.Context, lease campaign.Lease, reason campaign.SkipReason) (n int, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		t.recount(s.First())
		now := ledger.Millis(time.Now())
		above, err := t.exec(sqlSkipQueued, s.Marked(), s.End(), string(reason), now)
		if err != nil {
			return err
		}
		below, err := t.exec(sqlSkipDeferred, s.First(), s.End(), string(reason), now, reason != campaign.OverLimit)
		if err != nil {
			return err
		}
		n = int(above + below)
		_, err = t.exec(sqlMarkEnd, s.Key)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return n, nil
}
