package portable

import (
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// sqlFaults looks at a range of deliveries once. Each row that it returns breaks a rule: the
// faults, one bit for each, the row, the seq, and the state and the rank of the outcome. $3 and $4
// are the segments of the range. PostgreSQL has NULL where SQLite has 0 or an empty text, and needs
// the bounds of a join to read no more than the range.
const sqlFaults = `SELECT faults, row, seq, state, rank FROM (
	SELECT d.row, d.rid & 4294967295 AS seq, o.state, o.rank,
		CASE WHEN s.id IS NULL OR (d.rid & 4294967295) < s.lo OR (d.rid & 4294967295) >= s.hi THEN 2 ELSE 0 END
		+ CASE WHEN s.done AND (o.rid IS NULL OR o.state IN (1, 2, 3) /* open */) THEN 8 ELSE 0 END` + sqlOutcomeFaults + `
	FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid AND o.rid >= $1 AND o.rid < $2
	LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) AND s.id >= $3 AND s.id < $4
	WHERE d.rid >= $1 AND d.rid < $2
	UNION ALL SELECT 0, o.rid & 4294967295, o.state, o.rank, 1` + sqlOutcomeFaults + `
	FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid AND d.rid >= $1 AND d.rid < $2
	LEFT JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) AND s.id >= $3 AND s.id < $4
	WHERE o.rid >= $1 AND o.rid < $2 AND d.rid IS NULL) x
	WHERE faults <> 0 ORDER BY seq LIMIT $5`

// sqlOutcomeFaults are the faults of an outcome, which a delivery without one does not have.
const sqlOutcomeFaults = ` + CASE WHEN (o.rid & 4294967295) >= s.mark AND NOT s.closed AND o.state <> 7 /* skipped */ THEN 4 ELSE 0 END
		+ CASE WHEN (o.state = 5 /* accepted */) <> (coalesce(o.message_id, '') <> '')
			OR (coalesce(o.mh, 0) <> 0) <> (coalesce(o.message_id, '') <> '') THEN 16 ELSE 0 END
		+ CASE WHEN o.rank <> CASE WHEN o.read_at > 0 THEN 4 /* read */ WHEN o.delivered_at > 0 THEN 3 /* delivered */
			WHEN o.failed_at > 0 THEN 2 /* failed */ WHEN o.sent_at > 0 THEN 1 /* sent */ ELSE 0 /* none */ END THEN 32 ELSE 0 END AS faults`

// sqlFaultyOrders finds the deliveries of a range that are counted with an order and should not be.
const sqlFaultyOrders = `SELECT coalesce(d.row, 0), c.rid & 4294967295, c.order_id FROM conversion c
	LEFT JOIN purchase p ON p.id = c.order_id LEFT JOIN delivery d ON d.rid = c.rid
	WHERE c.rid >= $1 AND c.rid < $2 AND (p.id IS NULL OR c.held_out = 1 AND c.accepted_at > 0) LIMIT $3`

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
	if found, err = ledger.AuditRows(found, no, highest, limit, func(from int64) ([]campaign.Problem, error) {
		return l.auditRange(ctx, from, limit)
	}, twice); err != nil || len(found) >= limit {
		return found, err
	}
	wrong, err := l.auditSummaries(ctx, no)
	found = append(found, wrong...)
	return found[:min(limit, len(found))], err
}

// auditRange looks at the deliveries of one step.
func (l *Ledger) auditRange(ctx context.Context, from int64, limit int) ([]campaign.Problem, error) {
	end := from + ledger.AuditStep
	rows, err := list(ctx, l.db, Reports, ledger.DeliveryFaults, sqlFaults, from, end,
		ledger.SegmentOf(from), ledger.SegmentOf(from)+ledger.AuditStep/campaign.SegmentSize, limit)
	if err != nil {
		return nil, err
	}
	orders, err := list(ctx, l.db, Reports, ledger.OrderFault, sqlFaultyOrders, from, end, limit)
	return slices.Concat(append(rows, orders...)...), err
}

// auditSummaries compares the summaries that are kept with the rows.
func (l *Ledger) auditSummaries(ctx context.Context, no campaign.RunNo) (wrong []campaign.Problem, err error) {
	where := recipients.NewCountries()
	err = l.eachPage(ctx, no, true, func(each Each, page []ledger.KeptSegment) error {
		wrong = slices.DeleteFunc(wrong, func(p campaign.Problem) bool { return p.Seq >= page[0].Lo }) // of an earlier try
		for i := range page {
			kept, is, err := page[i].Kept()
			if err != nil {
				return err
			}
			if !is || page[i].Retired {
				continue
			}
			counted, err := countSegment(each, &page[i].CountedSegment, where, true)
			if err != nil {
				return err
			}
			if !kept.Equal(&counted) {
				wrong = append(wrong, ledger.WrongSummary(&page[i]))
			}
		}
		return nil
	}, nil)
	return wrong, err
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
