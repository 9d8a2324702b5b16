package postgres

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// paired is Paired of package portable. A full join is one by sorting or by a hash table. For any
// other join the planner may choose to look each row up, which takes four times as long.
func paired(columns string) string {
	return `SELECT ` + columns + ` FROM (SELECT * FROM delivery WHERE rid >= $1 AND rid < $2) d
		FULL JOIN (SELECT * FROM outcome WHERE rid >= $1 AND rid < $2) o ON o.rid = d.rid
		LEFT JOIN (SELECT * FROM segment WHERE id >= $3 AND id < $4) s
			ON s.id = ((coalesce(d.rid, o.rid) >> 32) << 32) | ((coalesce(d.rid, o.rid) & 4294967295) / 4096)`
}

// sqlQueuedTwice counts the keys of all rows first, and looks at the outcomes only of those that it
// finds twice.
const sqlQueuedTwice = `WITH t AS MATERIALIZED (SELECT key FROM delivery WHERE rid >= $1 AND rid < $2 AND key <> 0
		GROUP BY key HAVING count(*) > 1),
	q AS (SELECT d.key, max(ARRAY[d.row, d.rid & 4294967295]) AS last FROM t JOIN delivery d ON d.key = t.key
		LEFT JOIN LATERAL (SELECT state FROM outcome o WHERE o.rid = d.rid OFFSET 0) o ON true
		WHERE d.rid >= $1 AND d.rid < $2 AND o.state IS DISTINCT FROM 7 /* skipped */ GROUP BY d.key HAVING count(*) > 1)
	SELECT last[1], last[2], count(*) OVER () FROM q ORDER BY key LIMIT $3`

// queuedTwice finds up to limit phone keys that more than one row of a run queues, and counts all.
func (l *Ledger) queuedTwice(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, all int64, err error) {
	err = l.read(ctx, l.reports, list(&found, func(scan scanFunc) (campaign.Problem, error) {
		return ledger.QueuedTwice(func(into ...any) error { return scan(append(into, &all)...) })
	}, sqlQueuedTwice, ledger.RowID(no, 0), ledger.RowID(no+1, 0), limit))
	return found, all, err
}

// Audit implements campaign.ReportLedger.
func (l *Ledger) Audit(ctx context.Context, no campaign.RunNo, limit int) ([]campaign.Problem, campaign.AuditCounts, error) {
	return l.AuditBy(ctx, no, limit, l.queuedTwice)
}
