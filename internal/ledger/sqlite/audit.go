package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// paired is Paired of package portable. SQLite would compare each delivery with each outcome in a
// full join, so the outcomes without a delivery are a query of their own.
func paired(columns string) string {
	return `SELECT ` + columns + ` FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) AND s.id >= $3 AND s.id < $4
		WHERE d.rid >= $1 AND d.rid < $2
		UNION ALL SELECT ` + columns + ` FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		LEFT JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) AND s.id >= $3 AND s.id < $4
		WHERE o.rid >= $1 AND o.rid < $2 AND d.rid IS NULL`
}

const (
	sqlCountRows  = `SELECT rows FROM run_count WHERE no = ?`
	sqlHighestRow = `SELECT coalesce(max(rid), 0) FROM delivery WHERE rid >= ? AND rid < ?`
	// In pages: the write-ahead log grows during a long read.
	sqlKeys = `SELECT coalesce(string_agg(d.key, ','), '') FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ? AND d.rid < ? AND d.key <> 0 AND o.state IS NOT 7 /* skipped */`
	sqlQueuedLast = `SELECT d.row, d.rid & 0xffffffff FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ? AND d.rid < ? AND d.key = ? AND o.state IS NOT 7 /* skipped */ ORDER BY d.row DESC LIMIT 1`
)

// queuedTwice finds up to limit phone keys that more than one row of a run queues, and counts all.
// Its memory is 8 bytes a row.
func (l *Ledger) queuedTwice(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, all int64, err error) {
	var rows, highest int64
	if err := l.read().row(ctx, sqlCountRows, args(int64(no)), &rows); err != nil {
		return nil, 0, err
	}
	first, end := ledger.RowID(no, 0), ledger.RowID(no+1, 0)
	if err := l.read().row(ctx, sqlHighestRow, args(first, end), &highest); err != nil {
		return nil, 0, err
	}
	keys := make([]int64, 0, rows) // a growing slice would take twice as much
	for from := first; from <= highest; from += ledger.AuditStep {
		var text string
		if err := l.read().row(ctx, sqlKeys, args(from, from+ledger.AuditStep), &text); err != nil {
			return nil, 0, err
		}
		for field := range strings.SplitSeq(text, ",") {
			if key, err := strconv.ParseInt(field, 10, 64); err == nil { // an empty text has no key
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] != keys[i-1] || i > 1 && keys[i] == keys[i-2] {
			continue
		}
		if all++; len(found) == limit {
			continue
		}
		if err := l.read().each(ctx, sqlQueuedLast, args(first, end, keys[i]), list(&found, ledger.QueuedTwice)); err != nil {
			return nil, 0, err
		}
	}
	return found, all, nil
}

// Audit implements campaign.ReportLedger.
func (l *Ledger) Audit(ctx context.Context, no campaign.RunNo, limit int) ([]campaign.Problem, campaign.AuditCounts, error) {
	return l.AuditBy(ctx, no, limit, l.queuedTwice)
}
