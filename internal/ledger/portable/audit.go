package portable

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// sqlChecks are what Audit asks about a range of deliveries. Each query returns the row, the seq
// and a detail of the deliveries that break the rule. PostgreSQL has NULL where SQLite has 0 or an
// empty text.
var sqlChecks = [ledger.DeliveryFaults]string{
	ledger.FaultNoDelivery: `SELECT 0, o.rid & 4294967295, CAST(o.state AS text) FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND d.rid IS NULL LIMIT $3`,
	ledger.FaultNoSegment: `SELECT d.row, d.rid & 4294967295, '' FROM delivery d
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)
		WHERE d.rid >= $1 AND d.rid < $2
		AND (s.id IS NULL OR (d.rid & 4294967295) < s.lo OR (d.rid & 4294967295) >= s.hi) LIMIT $3`,
	ledger.FaultNoIntent: `SELECT coalesce(d.row, 0), o.rid & 4294967295, CAST(o.state AS text)
		FROM outcome o JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096)
		LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND (o.rid & 4294967295) >= s.mark AND NOT s.closed
		AND o.state <> 7 /* skipped */ LIMIT $3`,
	ledger.FaultNoOutcome: `SELECT d.row, d.rid & 4294967295, '' FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)
		WHERE d.rid >= $1 AND d.rid < $2 AND s.done AND (o.rid IS NULL OR o.state IN (1, 2, 3) /* open */) LIMIT $3`,
	ledger.FaultMessageID: `SELECT coalesce(d.row, 0), o.rid & 4294967295, CAST(o.state AS text)
		FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid WHERE o.rid >= $1 AND o.rid < $2
		AND ((o.state = 5 /* accepted */) <> (coalesce(o.message_id, '') <> '')
			OR (coalesce(o.mh, 0) <> 0) <> (coalesce(o.message_id, '') <> '')) LIMIT $3`,
	ledger.FaultRank: `SELECT coalesce(d.row, 0), o.rid & 4294967295, CAST(o.rank AS text) FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND o.rank <> CASE WHEN coalesce(o.read_at, 0) > 0 THEN 4 /* read */
			WHEN coalesce(o.delivered_at, 0) > 0 THEN 3 /* delivered */ WHEN coalesce(o.failed_at, 0) > 0 THEN 2 /* failed */
			WHEN coalesce(o.sent_at, 0) > 0 THEN 1 /* sent */ ELSE 0 /* none */ END LIMIT $3`,
	ledger.FaultOrder: `SELECT coalesce(d.row, 0), c.rid & 4294967295, c.order_id FROM conversion c
		LEFT JOIN purchase p ON p.id = c.order_id LEFT JOIN delivery d ON d.rid = c.rid
		WHERE c.rid >= $1 AND c.rid < $2 AND (p.id IS NULL OR c.held_out = 1 AND c.accepted_at > 0) LIMIT $3`,
}

// The deliveries of a run and its outcomes have adjacent keys; either may have the highest.
const sqlHighestRow = `SELECT greatest(coalesce((SELECT max(rid) FROM delivery WHERE rid >= $1 AND rid < $2), 0),
	coalesce((SELECT max(rid) FROM outcome WHERE rid >= $1 AND rid < $2), 0))`

// AuditBy is Audit of campaign.ReportLedger. twice finds up to limit phone keys that more than one
// row of the run queues.
func (l *Ledger) AuditBy(
	ctx context.Context, no campaign.RunNo, limit int, twice func(limit int) ([]campaign.Problem, error),
) (found []campaign.Problem, err error) {
	if limit <= 0 {
		return nil, nil
	}
	if err := l.db.Snapshot(ctx, func(each Each) (err error) {
		found, err = l.auditCounts(each, no)
		return err
	}); err != nil {
		return nil, err
	}
	var highest int64
	if _, err := l.row(ctx, Reports, []any{&highest}, sqlHighestRow, ledger.RowID(no, 0), ledger.RowID(no+1, 0)); err != nil {
		return nil, err
	}
	return ledger.AuditRows(found, no, highest, limit, func(fault int, from int64) ([]campaign.Problem, error) {
		return list(ctx, l.db, Reports, func(scan Scan) (campaign.Problem, error) {
			return ledger.DeliveryFault(fault, scan)
		}, sqlChecks[fault], from, from+ledger.AuditStep, limit)
	}, twice)
}

const (
	sqlCountDeliveries = `SELECT count(*) + (SELECT CAST(coalesce(sum(rows), 0) AS bigint) FROM retired WHERE segment >= $3 AND segment < $4)
		FROM delivery WHERE rid >= $1 AND rid < $2`
	sqlCountCovered   = `SELECT CAST(coalesce(sum(hi - lo), 0) AS bigint) FROM segment WHERE id >= $1 AND id < $2`
	sqlBrokenSegments = `SELECT id & 4294967295, lo, hi, mark FROM segment WHERE id >= $1 AND id < $2 AND
		(mark < lo OR mark > hi OR hi < lo OR hi > lo + 4096 OR lo <> (id & 4294967295) * 4096)`
)

// auditCounts compares, on one snapshot, the counts that must be equal, and checks the segments.
func (l *Ledger) auditCounts(each Each, no campaign.RunNo) (found []campaign.Problem, err error) {
	r, err := l.run(each, sqlThisRun, int64(no))
	if err != nil {
		return nil, err
	}
	first, end := ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0)
	var deliveries, covered int64
	if _, err := one(each, []any{&deliveries}, sqlCountDeliveries, ledger.RowID(no, 0), ledger.RowID(no+1, 0), first, end); err != nil {
		return nil, err
	}
	if _, err := one(each, []any{&covered}, sqlCountCovered, first, end); err != nil {
		return nil, err
	}
	found = ledger.AuditCounts(r, deliveries, covered)
	err = each(add(&found, ledger.BrokenSegment), sqlBrokenSegments, first, end)
	return found, err
}
