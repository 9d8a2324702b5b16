package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const sqlDeliveries = `SELECT d.rid, d.key, d.row, d.dest, d.cells FROM delivery d
	WHERE d.rid >= $1 AND d.rid < $2 AND ` + sqlNoOutcome + ` ORDER BY d.rid`

// Deliveries implements campaign.SendLedger.
func (l *Ledger) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanDelivery, sqlDeliveries, ledger.RowID(no, from), ledger.RowID(no, to)))
	return all, err
}

const sqlDue = `SELECT d.*, o.attempt, o.tries FROM outcome o
	CROSS JOIN LATERAL (SELECT rid, key, row, dest, cells FROM delivery WHERE rid = o.rid OFFSET 0) d
	WHERE o.rid >= $1 AND o.rid < $2 AND o.state = 1 /* deferred */ AND o.next_due <= $3 ORDER BY o.next_due, o.rid LIMIT $4`

// Due implements campaign.SendLedger.
func (l *Ledger) Due(ctx context.Context, lease campaign.Lease, now time.Time, n int) (all []campaign.Retry, err error) {
	first, end := ledger.RowID(lease.Run, lease.Lo), ledger.RowID(lease.Run, lease.Hi)
	err = l.read(ctx, l.sender, list(&all, ledger.ScanRetry, sqlDue, first, end, ledger.Millis(now), n))
	return all, err
}
