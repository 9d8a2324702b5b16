package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
)

const (
	sqlOldDoubts = `SELECT rid, flags FROM outcome
		WHERE rid >= $1 AND rid < $2 AND state = 3 /* in doubt */ AND result_at >= $3 AND result_at < $4 ORDER BY rid FOR NO KEY UPDATE`
	sqlEndDoubts = `UPDATE outcome SET state = 4 /* unknown */ WHERE rid = ANY($1)`
	sqlResend    = `UPDATE outcome SET state = 1 /* deferred */, flags = flags | 2 /* may be a duplicate */, next_due = $2
		WHERE rid = ANY($1)`
)

// Resolve implements campaign.SendLedger.
func (l *Ledger) Resolve(ctx context.Context, lease campaign.Lease, began reception.Span, p campaign.OnUncertain) (n int, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		var ended ledger.Resolved
		if err := t.do(each(func(scan scanFunc) error {
			var rid, flags int64
			err := scan(&rid, &flags)
			ended.Doubt(p, rid, flags)
			return err
		}, sqlOldDoubts, s.First(), s.End(), ledger.Millis(began.Since), ledger.Millis(began.Until))); err != nil {
			return err
		}
		t.recount(s.First())
		t.last(stmt(nil, sqlResend, ended.Resend, ledger.Millis(time.Now())), stmt(nil, sqlEndDoubts, ended.Unknown))
		n = len(ended.Resend) + len(ended.Unknown)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

const (
	sqlSkipDeferred = `UPDATE outcome SET ` + ledger.SkippedState + `, code = $3, result_at = $4, next_due = NULL
		WHERE rid >= $1 AND rid < $2 AND state = 1 /* deferred */ AND (attempt = 0 OR $5)`
	sqlSkipQueued = `INSERT INTO outcome (rid, state, code, result_at) SELECT d.rid, 7 /* skipped */, $3, $4
		FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND ` + sqlNoOutcome + ` ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`
	sqlMarkEnd = `UPDATE segment SET mark = hi WHERE id = $1`
)

// SkipQueued implements campaign.SendLedger. It moves the mark to the segment's end, because every
// delivery above it has an outcome now. Park then finds the segment done, unless retries are left.
func (l *Ledger) SkipQueued(ctx context.Context, lease campaign.Lease, reason campaign.SkipReason) (n int, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		now := ledger.Millis(time.Now())
		t.recount(s.First())
		var above, below int64
		err = t.do(
			stmt(&below, sqlSkipDeferred, s.First(), s.End(), string(reason), now, reason != campaign.OverLimit),
			stmt(&above, sqlSkipQueued, s.Marked(), s.End(), string(reason), now),
			stmt(nil, sqlMarkEnd, s.Key))
		n = int(above + below)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
