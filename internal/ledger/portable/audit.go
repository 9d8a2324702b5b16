package portable

import (
	"context"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// sqlAuditColumns are what an audit compares of a delivery d, its outcome o and its segment s. Each
// fault has a bit. PostgreSQL has NULL where SQLite has 0 or an empty text.
var sqlAuditColumns = `CASE WHEN o.rid IS NULL THEN 0 ELSE o.state END AS state, CASE WHEN o.rid IS NULL THEN 0 ELSE o.rank END AS rank,
	coalesce((d.rid & 4294967295) < s.mark, false) AS posted, coalesce(s.lease_until > ledger_now(), false) AS alive,
	coalesce(d.row, 0) AS row, coalesce(d.rid, o.rid) & 4294967295 AS seq, o.state AS outcome, o.rank AS outcome_rank, o.code,
	CASE WHEN d.rid IS NULL THEN 1 ELSE CASE WHEN s.id IS NULL OR (d.rid & 4294967295) < s.lo OR (d.rid & 4294967295) >= s.hi THEN 2 ELSE 0 END
		+ CASE WHEN s.done AND (o.rid IS NULL OR o.state IN (1, 2, 3) /* open */) THEN 8 ELSE 0 END
		+ CASE WHEN d.key = 0 AND (o.state IS NULL OR o.state <> 7 /* skipped */) THEN 64 ELSE 0 END
		+ CASE o.state WHEN 5 /* accepted */ THEN
				CASE WHEN coalesce(o.connection, '') = '' AND coalesce(s.connection, '') = '' THEN 512 ELSE 0 END
			WHEN 7 /* skipped */ THEN CASE WHEN coalesce(o.code, '') NOT IN (` + skipReasons() + `) THEN 128 ELSE 0 END
			WHEN 6 /* refused */ THEN CASE WHEN coalesce(o.code, '') = '' THEN 256 ELSE 0 END ELSE 0 END END
	+ CASE WHEN (o.rid & 4294967295) >= s.mark AND NOT s.closed AND o.state <> 7 /* skipped */ THEN 4 ELSE 0 END
	+ CASE WHEN (o.state = 5 /* accepted */) <> (coalesce(o.message_id, '') <> '')
		OR (coalesce(o.mh, 0) <> 0) <> (coalesce(o.message_id, '') <> '') THEN 16 ELSE 0 END
	+ CASE WHEN o.rank <> CASE WHEN o.read_at > 0 THEN 4 /* read */ WHEN o.delivered_at > 0 THEN 3 /* delivered */
		WHEN o.failed_at > 0 THEN 2 /* failed */ WHEN o.sent_at > 0 THEN 1 /* sent */ ELSE 0 /* none */ END THEN 32 ELSE 0 END
	+ CASE WHEN o.state < 1 /* deferred */ OR o.state > 7 /* skipped */ THEN 1024 ELSE 0 END AS faults`

// skipReasons are the codes that a skipped delivery may have.
func skipReasons() string {
	var all []string
	for _, r := range campaign.SkipReasons {
		all = append(all, "'"+string(r)+"'")
	}
	return strings.Join(all, ", ")
}

const (
	// $1 and $2 are the row ids of the range, $3 and $4 its segments.
	sqlAuditGroups = `SELECT state, rank, posted, alive, faults, count(*) FROM (%) x GROUP BY 1, 2, 3, 4, 5`
	sqlAuditFaults = `SELECT faults, row, seq, outcome, outcome_rank, code FROM (%) x WHERE faults <> 0 ORDER BY seq LIMIT $5`

	// sqlFaultyOrders finds the deliveries of a range that are counted with an order and should not
	// be.
	sqlFaultyOrders = `SELECT coalesce(d.row, 0), c.rid & 4294967295, c.order_id, count(*) OVER () FROM conversion c
	LEFT JOIN purchase p ON p.id = c.order_id LEFT JOIN delivery d ON d.rid = c.rid
	WHERE c.rid >= $1 AND c.rid < $2 AND (p.id IS NULL OR c.held_out = 1 AND c.accepted_at > 0) LIMIT $3`

	// The deliveries of a run and its outcomes have adjacent keys; either may have the highest.
	sqlHighestRow = `SELECT greatest(coalesce((SELECT max(rid) FROM delivery WHERE rid >= $1 AND rid < $2), 0),
	coalesce((SELECT max(rid) FROM outcome WHERE rid >= $1 AND rid < $2), 0))`
)

// Twice finds up to limit phone keys that more than one row of a run queues, and counts all.
type Twice func(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, all int64, err error)

// auditing is an audit that is under way.
type auditing struct {
	*Ledger
	no     campaign.RunNo
	limit  int
	found  []campaign.Problem
	counts campaign.AuditCounts
}

// add adds problems, all in number, of which some are named.
func (a *auditing) add(named []campaign.Problem, all int64) {
	a.found = append(a.found, named[:min(len(named), a.limit-len(a.found))]...)
	a.counts.Problems += all
}

// left is how many problems a query returns: one at least, so that it counts them.
func (a *auditing) left() int { return max(a.limit-len(a.found), 1) }

// AuditBy is Audit of campaign.ReportLedger.
func (l *Ledger) AuditBy(
	ctx context.Context, no campaign.RunNo, limit int, twice Twice,
) ([]campaign.Problem, campaign.AuditCounts, error) {
	a := &auditing{Ledger: l, no: no, limit: limit, counts: campaign.AuditCounts{Statuses: map[campaign.Status]int64{}}}
	if limit <= 0 {
		return nil, a.counts, nil
	}
	for _, step := range []func(context.Context) error{a.sums, a.rows, func(ctx context.Context) error {
		named, all, err := twice(ctx, no, a.left())
		a.add(named, all)
		return err
	}, a.summaries} {
		if err := step(ctx); err != nil {
			return nil, a.counts, err
		}
	}
	return a.found, a.counts, nil
}

// rows compares the deliveries with their outcomes and segments, a range at a time.
func (a *auditing) rows(ctx context.Context) error {
	var highest int64
	if _, err := a.row(ctx, Reports, []any{&highest}, sqlHighestRow, ledger.RowID(a.no, 0), ledger.RowID(a.no+1, 0)); err != nil {
		return err
	}
	pairs := a.own.Paired(sqlAuditColumns)
	groups, faults := strings.Replace(sqlAuditGroups, "%", pairs, 1), strings.Replace(sqlAuditFaults, "%", pairs, 1)
	for from := ledger.RowID(a.no, 0); from <= highest; from += ledger.AuditStep {
		segment, end := ledger.SegmentOf(from), from+ledger.AuditStep
		args := []any{from, end, segment, segment + ledger.AuditStep/campaign.SegmentSize}
		counted, err := list(ctx, a.db, Reports, ledger.ScanAuditGroup, groups, args...)
		if err != nil {
			return err
		}
		before := a.counts.Problems
		for i := range counted {
			counted[i].Count(&a.counts)
		}
		if a.counts.Problems > before && len(a.found) < a.limit {
			named, err := list(ctx, a.db, Reports, ledger.DeliveryFaults, faults, append(args, a.left())...)
			if err != nil {
				return err
			}
			a.add(slices.Concat(named...), 0)
		}
		var all int64
		orders, err := list(ctx, a.db, Reports, counting(&all, ledger.OrderFault), sqlFaultyOrders, from, end, a.left())
		if err != nil {
			return err
		}
		a.add(orders, all)
	}
	return nil
}

// counting returns read for rows whose last column is how many there are without a limit.
func counting[T any](all *int64, read func(Scan) (T, error)) func(Scan) (T, error) {
	return func(scan Scan) (T, error) {
		return read(func(into ...any) error { return scan(append(into, all)...) })
	}
}

// summaries compares the summaries that are kept with the rows.
func (a *auditing) summaries(ctx context.Context) error {
	var wrong []campaign.Problem
	var kept int64 // of the page
	where := recipients.NewCountries()
	err := a.eachPage(ctx, ledger.SegmentKey(a.no, -1), ledger.SegmentKey(a.no+1, 0), true, func(each Each, page []ledger.KeptSegment) error {
		wrong = slices.DeleteFunc(wrong, func(p campaign.Problem) bool { return p.Seq >= page[0].Lo }) // of an earlier try
		kept = 0
		for i := range page {
			sum, is, err := page[i].Kept()
			if err != nil {
				return err
			}
			if !is || page[i].Retired {
				continue
			}
			counted, err := a.countSegment(each, &page[i].CountedSegment, where, true)
			if err != nil {
				return err
			}
			if kept++; !sum.Equal(&counted) {
				wrong = append(wrong, ledger.WrongSummary(&page[i]))
			}
		}
		return nil
	}, func() { a.counts.Summaries += kept })
	a.add(wrong, int64(len(wrong)))
	return err
}

const (
	sqlSumRows = `SELECT count(*), coalesce(min(row), 0), coalesce(max(row), 0), CAST(coalesce(sum(row), 0) AS bigint),
		(SELECT CAST(coalesce(sum(rows), 0) AS bigint) FROM retired WHERE segment >= $3 AND segment < $4)
		FROM delivery WHERE rid >= $1 AND rid < $2`
	sqlMisplacedRows = `SELECT row, seq, next, count(*) OVER () FROM (
		SELECT row, rid & 4294967295 AS seq, lead(row) OVER (ORDER BY row) AS next FROM delivery WHERE rid >= $1 AND rid < $2) x
		WHERE next <> row + 1 ORDER BY row LIMIT $3`
	sqlCountCovered   = `SELECT CAST(coalesce(sum(hi - lo), 0) AS bigint) FROM segment WHERE id >= $1 AND id < $2`
	sqlBrokenSegments = `SELECT id & 4294967295, lo, hi, mark FROM segment WHERE id >= $1 AND id < $2 AND
		(mark < lo OR mark > hi OR hi < lo OR hi > lo + 4096 OR lo <> (id & 4294967295) * 4096)`
)

// sums compares, on one snapshot, the counts that must be equal, and checks the segments and the
// rows of the list. No row can be missing from a run whose deliveries retention deleted.
func (a *auditing) sums(ctx context.Context) error {
	var found, misplaced []campaign.Problem
	var all int64
	err := a.db.Snapshot(ctx, func(each Each) error {
		all = 0
		r, err := a.run(each, sqlThisRun, int64(a.no))
		if err != nil {
			return err
		}
		first, end, low, high := ledger.SegmentKey(a.no, 0), ledger.SegmentKey(a.no+1, 0), ledger.RowID(a.no, 0), ledger.RowID(a.no+1, 0)
		var rows ledger.RowSum
		var retired, covered int64
		if _, err := one(each, []any{&rows.N, &rows.Lowest, &rows.Highest, &rows.Sum, &retired}, sqlSumRows, low, high, first, end); err != nil {
			return err
		}
		if _, err := one(each, []any{&covered}, sqlCountCovered, first, end); err != nil {
			return err
		}
		found = ledger.AuditCounts(r, rows.N+retired, covered)
		if err := each(add(&found, ledger.BrokenSegment), sqlBrokenSegments, first, end); err != nil || r.Retired.Rows > 0 {
			return err
		}
		misplaced = ledger.MissingEnds(r, rows)
		if rows.Whole() {
			return nil
		}
		return each(add(&misplaced, counting(&all, ledger.MisplacedRow)), sqlMisplacedRows, low, high, a.limit)
	})
	a.add(found, int64(len(found)))
	a.add(misplaced, max(all, int64(len(misplaced))))
	return err
}
