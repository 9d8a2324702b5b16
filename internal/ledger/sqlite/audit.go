package sqlite

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// sqlChecks are what Audit asks about a range of deliveries. Each query returns the row, the seq
// and a detail of the deliveries that break the rule.
var sqlChecks = [ledger.DeliveryFaults]string{
	ledger.FaultNoDelivery: `SELECT 0, o.rid & 0xffffffff, o.state
		FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ?1 AND o.rid < ?2 AND d.rid IS NULL LIMIT ?3`,
	ledger.FaultNoSegment: `SELECT d.row, d.rid & 0xffffffff, '' FROM delivery d
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)
		WHERE d.rid >= ?1 AND d.rid < ?2
		AND (s.id IS NULL OR (d.rid & 0xffffffff) < s.lo OR (d.rid & 0xffffffff) >= s.hi) LIMIT ?3`,
	ledger.FaultNoIntent: `SELECT coalesce(d.row, 0), o.rid & 0xffffffff, o.state
		FROM outcome o JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 0xffffffff) / 4096)
		LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ?1 AND o.rid < ?2 AND (o.rid & 0xffffffff) >= s.mark AND s.closed = 0
		AND o.state <> 7 /* skipped */ LIMIT ?3`,
	ledger.FaultNoOutcome: `SELECT d.row, d.rid & 0xffffffff, ''
		FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)
		WHERE d.rid >= ?1 AND d.rid < ?2 AND s.done AND (o.rid IS NULL OR o.state IN (1, 2, 3) /* open */) LIMIT ?3`,
	ledger.FaultMessageID: `SELECT coalesce(d.row, 0), o.rid & 0xffffffff, o.state
		FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ?1 AND o.rid < ?2
		AND ((o.state = 5 /* accepted */) <> (o.message_id <> '') OR (o.mh <> 0) <> (o.message_id <> '')) LIMIT ?3`,
	ledger.FaultRank: `SELECT coalesce(d.row, 0), o.rid & 0xffffffff, o.rank
		FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ?1 AND o.rid < ?2 AND o.rank <> CASE WHEN o.read_at > 0 THEN 4 /* read */
			WHEN o.delivered_at > 0 THEN 3 /* delivered */ WHEN o.failed_at > 0 THEN 2 /* failed */
			WHEN o.sent_at > 0 THEN 1 /* sent */ ELSE 0 /* none */ END LIMIT ?3`,
}

// The deliveries of a run and its outcomes have adjacent keys; either may have the highest.
const sqlHighestRow = `SELECT max(coalesce((SELECT max(rid) FROM delivery WHERE rid >= ?1 AND rid < ?2), 0),
	coalesce((SELECT max(rid) FROM outcome WHERE rid >= ?1 AND rid < ?2), 0))`

// Audit implements campaign.ReportLedger.
func (l *Ledger) Audit(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, err error) {
	if limit <= 0 {
		return nil, nil
	}
	if err := l.snapshot(ctx, func(r reader) (err error) {
		found, err = r.auditCounts(ctx, no)
		return err
	}); err != nil {
		return nil, err
	}
	var highest int64
	if err := l.read().row(ctx, sqlHighestRow, args(ledger.RowID(no, 0), ledger.RowID(no+1, 0)), &highest); err != nil {
		return nil, err
	}
	return ledger.AuditRows(found, no, highest, limit, func(fault int, from int64) (more []campaign.Problem, err error) {
		err = l.read().each(ctx, sqlChecks[fault], args(from, from+ledger.AuditStep, limit),
			list(&more, func(scan scanFunc) (campaign.Problem, error) { return ledger.DeliveryFault(fault, scan) }))
		return more, err
	}, func(n int) ([]campaign.Problem, error) { return l.queuedTwice(ctx, no, n) })
}

const (
	sqlCountDeliveries = `SELECT count(*) + (SELECT coalesce(sum(rows), 0) FROM retired WHERE segment >= ?3 AND segment < ?4)
		FROM delivery WHERE rid >= ?1 AND rid < ?2`
	sqlCountCovered   = `SELECT coalesce(sum(hi - lo), 0) FROM segment WHERE id >= ? AND id < ?`
	sqlBrokenSegments = `SELECT id & 0xffffffff, lo, hi, mark FROM segment WHERE id >= ? AND id < ? AND
		(mark < lo OR mark > hi OR hi < lo OR hi > lo + 4096 OR lo <> (id & 0xffffffff) * 4096)`
)

// auditCounts compares, on one snapshot, the counts that must be equal, and checks the segments.
func (r reader) auditCounts(ctx context.Context, no campaign.RunNo) (found []campaign.Problem, err error) {
	run, err := r.run(ctx, no)
	if err != nil {
		return nil, err
	}
	segments := args(ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0))
	var deliveries, covered int64
	if err := r.row(ctx, sqlCountDeliveries, append(args(ledger.RowID(no, 0), ledger.RowID(no+1, 0)), segments...), &deliveries); err != nil {
		return nil, err
	}
	if err := r.row(ctx, sqlCountCovered, segments, &covered); err != nil {
		return nil, err
	}
	found = ledger.AuditCounts(run, deliveries, covered)
	err = r.each(ctx, sqlBrokenSegments, segments, list(&found, ledger.BrokenSegment))
	return found, err
}
