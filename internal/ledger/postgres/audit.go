package postgres

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// sqlChecks are what Audit asks about a range of deliveries. Each query returns the row, the seq
// and a detail of the deliveries that break the rule.
var sqlChecks = [ledger.DeliveryFaults]string{
	ledger.FaultNoDelivery: `SELECT 0::bigint, o.rid & 4294967295, o.state::text FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND d.rid IS NULL LIMIT $3`,
	ledger.FaultNoSegment: `SELECT d.row, d.rid & 4294967295, '' FROM delivery d
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)
		WHERE d.rid >= $1 AND d.rid < $2
		AND (s.id IS NULL OR (d.rid & 4294967295) < s.lo OR (d.rid & 4294967295) >= s.hi) LIMIT $3`,
	ledger.FaultNoIntent: `SELECT coalesce(d.row, 0), o.rid & 4294967295, o.state::text
		FROM outcome o JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096)
		LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND (o.rid & 4294967295) >= s.mark AND NOT s.closed
		AND o.state <> 7 /* skipped */ LIMIT $3`,
	ledger.FaultNoOutcome: `SELECT d.row, d.rid & 4294967295, '' FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)
		WHERE d.rid >= $1 AND d.rid < $2 AND s.done AND (o.rid IS NULL OR o.state IN (1, 2, 3) /* open */) LIMIT $3`,
	ledger.FaultMessageID: `SELECT coalesce(d.row, 0), o.rid & 4294967295, o.state::text
		FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid WHERE o.rid >= $1 AND o.rid < $2
		AND ((o.state = 5 /* accepted */) <> (o.message_id IS NOT NULL) OR (o.mh IS NOT NULL) <> (o.message_id IS NOT NULL)) LIMIT $3`,
	ledger.FaultRank: `SELECT coalesce(d.row, 0), o.rid & 4294967295, o.rank::text FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND o.rank <> CASE WHEN o.read_at IS NOT NULL THEN 4 /* read */
			WHEN o.delivered_at IS NOT NULL THEN 3 /* delivered */ WHEN o.failed_at IS NOT NULL THEN 2 /* failed */
			WHEN o.sent_at IS NOT NULL THEN 1 /* sent */ ELSE 0 /* none */ END LIMIT $3`,
}

// sqlHighestRow looks in both tables: either may have the highest delivery of a run.
const sqlHighestRow = `SELECT greatest((SELECT max(rid) FROM delivery WHERE rid >= $1 AND rid < $2),
	(SELECT max(rid) FROM outcome WHERE rid >= $1 AND rid < $2), 0)`

// Audit implements campaign.ReportLedger.
func (l *Ledger) Audit(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, err error) {
	if limit <= 0 {
		return nil, nil
	}
	if err := l.snapshot(ctx, l.reports, func(t *tx) (err error) {
		found, err = t.auditCounts(no)
		return err
	}); err != nil {
		return nil, err
	}
	var highest int64
	if err := l.read(ctx, l.reports, row(&highest, sqlHighestRow, ledger.RowID(no, 0), ledger.RowID(no+1, 0))); err != nil {
		return nil, err
	}
	return ledger.AuditRows(found, no, highest, limit, func(fault int, from int64) (more []campaign.Problem, err error) {
		err = l.read(ctx, l.reports, list(&more, func(scan scanFunc) (campaign.Problem, error) {
			return ledger.DeliveryFault(fault, scan)
		}, sqlChecks[fault], from, from+ledger.AuditStep, limit))
		return more, err
	}, func(n int) ([]campaign.Problem, error) { return l.queuedTwice(ctx, no, n) })
}

const (
	sqlCountDeliveries = `SELECT count(*) + (SELECT coalesce(sum(rows), 0)::bigint FROM retired WHERE segment >= $3 AND segment < $4)
		FROM delivery WHERE rid >= $1 AND rid < $2`
	sqlCountCovered   = `SELECT coalesce(sum(hi - lo), 0)::bigint FROM segment WHERE id >= $1 AND id < $2`
	sqlBrokenSegments = `SELECT id & 4294967295, lo, hi, mark FROM segment WHERE id >= $1 AND id < $2 AND
		(mark < lo OR mark > hi OR hi < lo OR hi > lo + 4096 OR lo <> (id & 4294967295) * 4096)`
)

// auditCounts compares, on one snapshot, the counts that must be equal, and checks the segments.
func (t *tx) auditCounts(no campaign.RunNo) (found []campaign.Problem, err error) {
	r, err := t.run(sqlRun, int64(no))
	if err != nil {
		return nil, err
	}
	first, end := ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0)
	var deliveries, covered int64
	if err := t.do(row(&deliveries, sqlCountDeliveries, ledger.RowID(no, 0), ledger.RowID(no+1, 0), first, end),
		row(&covered, sqlCountCovered, first, end)); err != nil {
		return nil, err
	}
	var broken []campaign.Problem
	err = t.do(list(&broken, ledger.BrokenSegment, sqlBrokenSegments, first, end))
	return append(ledger.AuditCounts(r, deliveries, covered), broken...), err
}
