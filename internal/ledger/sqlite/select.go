package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// Each of these statements finds row ids in [?2, ?3), at most ?4, in their order. ?1 is now.
const (
	sqlFindDeliveries = `SELECT d.rid FROM delivery d WHERE d.rid >= ?2 AND d.rid < ?3
		AND (?5 = '' OR ?5 = (SELECT CASE WHEN o.connection <> '' THEN o.connection ELSE s.connection END
			FROM segment s LEFT JOIN outcome o ON o.rid = d.rid WHERE s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)))
		ORDER BY d.rid LIMIT +?4`
	sqlFindNumber = `SELECT rid FROM delivery WHERE rid >= ?2 AND rid < ?3 AND key IN (?5, ?6) ORDER BY rid LIMIT +?4`

	sqlFindOutcomes = `SELECT o.rid FROM outcome o NOT INDEXED WHERE o.rid >= ?2 AND o.rid < ?3
		AND o.state IN (?8, ?9, ?10) AND (?11 < 0 OR o.rank = ?11)` + sqlFindThose
	sqlFindOpen = `SELECT o.rid FROM outcome o INDEXED BY outcome_open WHERE o.rid >= ?2 AND o.rid < ?3
		AND o.state IN (1, 2, 3) /* open */ AND o.state IN (?8, ?9, ?10) AND (?11 = '' OR o.code = ?11)` + sqlFindThose
	sqlFindTroubles = `SELECT o.rid FROM outcome o INDEXED BY outcome_trouble WHERE o.rid >= ?2 AND o.rid < ?3
		AND (o.state IN (4, 6, 7) /* troubled */ OR o.failed_at <> 0) AND o.state = ?8 AND (?9 < 0 OR o.rank = ?9)` + sqlFindThose
	sqlFindCodes = `SELECT o.rid FROM outcome o INDEXED BY outcome_trouble WHERE o.rid >= ?2 AND o.rid < ?3
		AND (o.state IN (4, 6, 7) /* troubled */ OR o.failed_at <> 0)
		AND CASE WHEN o.state = 5 /* accepted */ THEN o.fail_code ELSE o.code END = ?8` + sqlFindThose

	sqlFindThose = `
		AND (?5 = 0 OR max(o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at) >= ?5)
		AND (?6 = 9223372036854775807 OR max(o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at) <= ?6)
		AND (?7 = '' OR ?7 = CASE WHEN o.connection <> '' THEN o.connection ELSE (SELECT s.connection FROM segment s
			WHERE s.id = ((o.rid >> 32) << 32) | ((o.rid & 0xffffffff) / 4096)) END)
		ORDER BY o.rid LIMIT +?4`

	sqlFindQueued = sqlBare + `d.rid >= max(?2, ((s.id >> 32) << 32) + s.mark) AND d.rid < min(?3, ((s.id >> 32) << 32) + s.hi)` + sqlBareEnd
	sqlFindPosted = sqlBare + `d.rid >= max(?2, ((s.id >> 32) << 32) + s.lo) AND d.rid < min(?3, ((s.id >> 32) << 32) + s.mark)` + sqlBareEnd

	sqlBare = `SELECT d.rid FROM segment s CROSS JOIN delivery d ON `
	// A segment that is done has an outcome for each delivery.
	sqlBareEnd = ` AND NOT EXISTS (SELECT 1 FROM outcome o WHERE o.rid = d.rid)
		WHERE s.id >= ?5 AND s.id <= ?6 AND s.done = 0 AND (?7 = '' OR s.connection = ?7) ORDER BY d.rid LIMIT +?4`
)

// lineColumns and lineTables are the columns of a line, and the tables beside the delivery d.
// Prices are looked up only where there are any.
const (
	lineColumns = `SELECT d.rid, d.key, d.row, d.dest, d.cells,
		CASE WHEN o.connection <> '' THEN o.connection ELSE coalesce(s.connection, '') END, coalesce(s.mark, 0), coalesce(s.lease_until, 0) > ?1,
		o.state, o.rank, o.flags, o.attempt, o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at,
		o.code, o.fail_code, o.detail, o.message_id, o.request_id, o.trace_id,
		CASE WHEN EXISTS (SELECT 1 FROM price) THEN (SELECT kind FROM price x WHERE x.mh = o.mh) END `
	lineTables = ` LEFT JOIN outcome o ON o.rid = d.rid
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096) `
)

// found is the statement that returns the lines of the row ids that a statement finds.
func found(ids string) string {
	return lineColumns + `FROM (` + ids + `) f CROSS JOIN delivery d ON d.rid = f.rid` + lineTables
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

const sqlEndOfRun = `SELECT coalesce((SELECT hi FROM segment WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1), 0)`

// SelectLines implements campaign.ReportLedger.
func (l *Ledger) SelectLines(ctx context.Context, no campaign.RunNo, f campaign.LineFilter, from int64, n int) (
	page []campaign.Line, next int64, err error) {
	var end int64
	if err := l.read().row(ctx, sqlEndOfRun, args(ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0)), &end); err != nil {
		return nil, 0, err
	}
	now := ledger.Millis(time.Now())
	return ledger.Select(&f, from, end, n, func(s *ledger.Lookup, from, to int64, n int) (lines []campaign.Line, err error) {
		a, b := ledger.RowID(no, from), ledger.RowID(no, to-1)+1
		read := func(sql string, more ...any) error {
			return l.read().each(ctx, sql, append(args(now, a, b, n), more...), list(&lines, ledger.ScanLine))
		}
		outcomes := func(sql string, of any) error {
			state := func(i int) int64 { return s.States[min(i, len(s.States)-1)] }
			return read(sql, s.Since, s.Until, s.Connection, state(0), state(1), state(2), of)
		}
		switch s.Source {
		case ledger.FromDeliveries:
			err = read(sqlSelectDeliveries, s.Connection)
		case ledger.FromNumber:
			err = read(sqlSelectNumber, s.Key, recipients.Other(s.Key))
		case ledger.FromOutcomes:
			err = outcomes(sqlSelectOutcomes, s.Rank)
		case ledger.FromOpen:
			err = outcomes(sqlSelectOpen, s.Code)
		case ledger.FromTroubles:
			err = read(sqlSelectTroubles, s.Since, s.Until, s.Connection, s.States[0], s.Rank)
		case ledger.FromCodes:
			err = read(sqlSelectCodes, s.Since, s.Until, s.Connection, s.Code)
		case ledger.FromQueued:
			err = read(sqlSelectQueued, ledger.SegmentOf(a), ledger.SegmentOf(b-1), s.Connection)
		case ledger.FromPosted:
			err = read(sqlSelectPosted, ledger.SegmentOf(a), ledger.SegmentOf(b-1), s.Connection)
		}
		return lines, err
	})
}
