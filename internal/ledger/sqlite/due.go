package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const sqlDeliveries = `SELECT d.rid, d.key, d.row, d.dest, d.cells FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
	WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL ORDER BY d.rid`

// Deliveries implements campaign.SendLedger.
func (l *Ledger) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	err = l.read().each(ctx, sqlDeliveries, args(ledger.RowID(no, from), ledger.RowID(no, to)), list(&all, ledger.ScanDelivery))
	return all, err
}

const sqlDue = `SELECT d.rid, d.key, d.row, d.dest, d.cells, o.attempt, o.tries
	FROM outcome o INDEXED BY outcome_open JOIN delivery d ON d.rid = o.rid
	WHERE o.rid >= ? AND o.rid < ? AND o.state IN (1, 2, 3) /* open */ AND o.state = 1 /* deferred */ AND o.next_due <= ?
	ORDER BY o.next_due, o.rid LIMIT +?`

// Due implements campaign.SendLedger.
func (l *Ledger) Due(ctx context.Context, lease campaign.Lease, now time.Time, n int) (all []campaign.Retry, err error) {
	a := args(ledger.RowID(lease.Run, lease.Lo), ledger.RowID(lease.Run, lease.Hi), ledger.Millis(now), n)
	err = l.read().each(ctx, sqlDue, a, list(&all, ledger.ScanRetry))
	return all, err
}
