package postgres

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const (
	sqlKeptSpent     = `SELECT connection, sum(n)::bigint FROM spent WHERE quarter >= $1 GROUP BY connection`
	sqlSpentSegments = `SELECT s.id, s.lo, s.mark, s.hi, s.done, s.connection FROM segment s JOIN run r ON r.no = s.run
		WHERE s.id > $1 AND s.id <= $2 AND s.mark > s.lo AND (r.ended_at = 0 OR r.ended_at >= $3)
			AND NOT (s.done AND EXISTS (SELECT 1 FROM spent p WHERE p.segment = s.id))
		ORDER BY s.id LIMIT $4`
	sqlSpent = `SELECT w.i, g.* FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY w (a, b, i) CROSS JOIN LATERAL (
		SELECT coalesce(connection, ''), coalesce(result_at, 0) / 900000 /* a quarter of an hour */, count(*),
			count(*) FILTER (WHERE state = 3 /* in doubt */ OR state = 4 /* unknown */ OR state = 5 /* accepted */),
			count(*) FILTER (WHERE state = 2 /* retrying */), count(*) FILTER (WHERE flags & 2 /* may be a duplicate */ <> 0)
		FROM outcome WHERE rid >= w.a AND rid < w.b GROUP BY 1, 2) g`
	sqlLastSegment = `SELECT coalesce(max(id), 0) FROM segment`
	sqlFoldSpent   = `INSERT INTO spent (segment, quarter, connection, n)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) ON CONFLICT DO NOTHING`
)

// Spent implements campaign.LimitLedger. It counts a page of segments at a time, each in a snapshot
// of its own, so that a long count does not keep dead rows from being cleaned up.
func (l *Ledger) Spent(ctx context.Context, since time.Time) (map[string]int64, error) {
	return ledger.CountSpent(since, func(quarter int64) (sum map[string]int64, last int64, err error) {
		err = l.snapshot(ctx, l.reports, func(t *tx) error {
			sum = map[string]int64{}
			return t.do(row(&last, sqlLastSegment), each(countsInto(sum), sqlKeptSpent, quarter))
		})
		return sum, last, err
	}, func(after, last int64) (page []ledger.SentSegment, groups map[int][]ledger.SpentGroup, err error) {
		err = l.snapshot(ctx, l.reports, func(t *tx) (err error) {
			page, groups, err = t.spentPage(after, last, since)
			return err
		})
		return page, groups, err
	}, func(folds []ledger.Folded) error { return l.fold(ctx, folds) })
}

// spentPage reads the page of segments behind the key after, and counts their outcomes.
func (t *tx) spentPage(after, last int64, since time.Time) (page []ledger.SentSegment, groups map[int][]ledger.SpentGroup, err error) {
	err = t.do(list(&page, ledger.ScanSentSegment, sqlSpentSegments, after, last, ledger.Millis(since), ledger.SpentPage))
	if err != nil || len(page) == 0 {
		return nil, nil, err
	}
	var from, to []int64
	for _, s := range page {
		from, to = append(from, s.From), append(to, s.To)
	}
	groups = map[int][]ledger.SpentGroup{}
	err = t.do(each(func(scan scanFunc) error {
		var i int
		g, err := ledger.ScanSpentGroup(scan, &i)
		groups[i-1] = append(groups[i-1], g)
		return err
	}, sqlSpent, from, to))
	return page, groups, err
}

// fold keeps the counts of done segments. A ledger that is open for reading keeps none.
func (l *Ledger) fold(ctx context.Context, folds []ledger.Folded) error {
	if l.readOnly {
		return nil
	}
	var segments, quarters, ns []int64
	var connections []string
	for _, f := range folds {
		segments, quarters = append(segments, f.Segment), append(quarters, f.Quarter)
		connections, ns = append(connections, f.Connection), append(ns, f.N)
	}
	return l.change(ctx, l.sender, "", func(t *tx) error {
		t.last(stmt(nil, sqlFoldSpent, segments, quarters, connections, ns))
		return nil
	})
}
