package postgres

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// Each of these statements finds row ids in [$1, $2), at most $3, in their order. Those of outcomes
// name an index's condition, because the planner takes a partial index only then.
const (
	sqlFindDeliveries = `SELECT d.rid FROM delivery d WHERE d.rid >= $1 AND d.rid < $2
		AND ($4::text = '' OR $4 = (SELECT coalesce((SELECT o.connection FROM outcome o WHERE o.rid = d.rid), s.connection)
			FROM segment s WHERE s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)))
		ORDER BY d.rid LIMIT $3`
	sqlFindNumber = `SELECT rid FROM delivery WHERE rid >= $1 AND rid < $2 AND key IN ($4, $5) ORDER BY rid LIMIT $3`

	sqlFindOutcomes = `SELECT o.rid FROM outcome o WHERE o.rid >= $1 AND o.rid < $2 AND o.state = ANY($7) AND ($8 < 0 OR o.rank = $8)` +
		sqlFindThose
	sqlFindOpen = `SELECT o.rid FROM outcome o WHERE o.rid >= $1 AND o.rid < $2 AND o.state IN (1, 2, 3) /* open */
		AND o.state = ANY($7) AND ($8::text = '' OR o.code = $8)` + sqlFindThose
	// Conditions of the index alone decide which rows of these are read.
	sqlFindTroubles = `SELECT o.rid FROM outcome o WHERE o.rid >= $1 AND o.rid < $2
		AND (o.state IN (4, 6, 7) /* troubled */ OR o.failed_at IS NOT NULL) AND o.state = $7 AND ($8 < 0 OR o.rank = $8)` + sqlFindThose
	sqlFindCodes = `SELECT o.rid FROM outcome o WHERE o.rid >= $1 AND o.rid < $2
		AND (o.state IN (4, 6, 7) /* troubled */ OR o.failed_at IS NOT NULL)
		AND CASE WHEN o.state = 5 /* accepted */ THEN o.fail_code ELSE o.code END = $7` + sqlFindThose

	sqlFindThose = `
		AND ($4::bigint = 0 OR greatest(o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at) >= $4)
		AND ($5::bigint = 9223372036854775807 OR greatest(o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at) <= $5)
		AND ($6::text = '' OR $6 = coalesce(o.connection, (SELECT s.connection FROM segment s
			WHERE s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096))))
		ORDER BY o.rid LIMIT $3`

	sqlFindQueued = sqlBare + `
		d.rid >= greatest($1, ((s.id >> 32) << 32) + s.mark) AND d.rid < least($2, ((s.id >> 32) << 32) + s.hi)` + sqlBareEnd
	sqlFindPosted = sqlBare + `
		d.rid >= greatest($1, ((s.id >> 32) << 32) + s.lo) AND d.rid < least($2, ((s.id >> 32) << 32) + s.mark)` + sqlBareEnd

	sqlBare = `SELECT d.rid FROM segment s CROSS JOIN LATERAL (SELECT rid FROM delivery d WHERE `
	// A segment that is done has an outcome for each delivery.
	sqlBareEnd = ` AND NOT EXISTS (SELECT 1 FROM outcome o WHERE o.rid = d.rid) ORDER BY rid LIMIT $3) d
		WHERE s.id >= $4 AND s.id <= $5 AND NOT s.done AND ($6::text = '' OR s.connection = $6) ORDER BY d.rid LIMIT $3`
)

// lineOf selects the lines of the deliveries d. OFFSET 0: see each. Prices are looked up only where
// there are any: few platforms tell them.
const lineOf = ` SELECT d.rid, d.key, d.row, d.dest, d.cells,
	coalesce(o.connection, s.connection, ''), coalesce(s.mark, 0), coalesce(s.lease_until > ledger_now(), false),
	o.state, o.rank, o.flags, o.attempt, o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at,
	o.code, o.fail_code, o.detail, o.message_id, o.request_id, o.trace_id,
	CASE WHEN EXISTS (SELECT 1 FROM price) THEN (SELECT kind FROM price x WHERE x.mh = o.mh) END
	FROM d LEFT JOIN LATERAL (SELECT * FROM outcome x WHERE x.rid = d.rid OFFSET 0) o ON true
	LEFT JOIN LATERAL (SELECT * FROM segment x WHERE x.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) OFFSET 0) s ON true`

// found is the statement that returns the lines of the row ids that a statement finds.
func found(ids string) string {
	return `WITH f AS MATERIALIZED (` + ids + `), d AS (SELECT x.* FROM f
		CROSS JOIN LATERAL (SELECT rid, key, row, dest, cells FROM delivery x WHERE x.rid = f.rid OFFSET 0) x)` + lineOf
}

var (
	sqlSelectDeliveries = found(sqlFindDeliveries)
	sqlSelectNumber     = found(sqlFindNumber)
	sqlSelectOutcomes   = found(sqlFindOutcomes)
	sqlSelectTroubles   = found(sqlFindTroubles)
	sqlSelectCodes      = found(sqlFindCodes)
	sqlSelectOpen       = found(sqlFindOpen)
	sqlSelectQueued     = found(sqlFindQueued)
	sqlSelectPosted     = found(sqlFindPosted)
)

const sqlEndOfRun = `SELECT coalesce((SELECT hi FROM segment WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT 1), 0)`

// SelectLines implements campaign.ReportLedger.
func (l *Ledger) SelectLines(ctx context.Context, no campaign.RunNo, f campaign.LineFilter, from int64, n int) (
	page []campaign.Line, next int64, err error) {
	var end int64
	if err := l.read(ctx, l.reports, row(&end, sqlEndOfRun, ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0))); err != nil {
		return nil, 0, err
	}
	return ledger.Select(&f, from, end, n, func(s *ledger.Lookup, from, to int64, n int) (lines []campaign.Line, err error) {
		a, b := ledger.RowID(no, from), ledger.RowID(no, to-1)+1
		connection, code := ledger.PlainText(s.Connection), ledger.PlainText(s.Code)
		bare := []any{a, b, n, ledger.SegmentOf(a), ledger.SegmentOf(b - 1), connection}
		var q *query
		read := func(sql string, args ...any) { q = list(&lines, ledger.ScanLine, sql, args...) }
		switch s.Source {
		case ledger.FromDeliveries:
			read(sqlSelectDeliveries, a, b, n, connection)
		case ledger.FromNumber:
			read(sqlSelectNumber, a, b, n, s.Key, recipients.Other(s.Key))
		case ledger.FromOutcomes:
			read(sqlSelectOutcomes, a, b, n, s.Since, s.Until, connection, s.States, s.Rank)
		case ledger.FromTroubles:
			read(sqlSelectTroubles, a, b, n, s.Since, s.Until, connection, s.States[0], s.Rank)
		case ledger.FromCodes:
			read(sqlSelectCodes, a, b, n, s.Since, s.Until, connection, code)
		case ledger.FromOpen:
			read(sqlSelectOpen, a, b, n, s.Since, s.Until, connection, s.States, code)
		case ledger.FromQueued:
			read(sqlSelectQueued, bare...)
		case ledger.FromPosted:
			read(sqlSelectPosted, bare...)
		}
		err = l.read(ctx, l.reports, q)
		return lines, err
	})
}
