package portable

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const (
	sqlKeptSpent     = `SELECT connection, CAST(sum(n) AS bigint) FROM spent WHERE quarter >= $1 GROUP BY connection`
	sqlSpentSegments = `SELECT s.id, s.lo, s.mark, s.hi, s.done, s.connection FROM segment s JOIN run r ON r.no = s.run
		WHERE s.id > $1 AND s.id <= $2 AND s.mark > s.lo AND (r.ended_at = 0 OR r.ended_at >= $3)
			AND NOT (s.done AND EXISTS (SELECT 1 FROM spent p WHERE p.segment = s.id))
		ORDER BY s.id LIMIT $4`
	sqlSpent = `SELECT coalesce(connection, ''), coalesce(result_at, 0) / 900000 /* a quarter of an hour */, count(*),
			count(*) FILTER (WHERE state = 3 /* in doubt */ OR state = 4 /* unknown */ OR state = 5 /* accepted */),
			count(*) FILTER (WHERE state = 2 /* retrying */), count(*) FILTER (WHERE flags & 2 /* may be a duplicate */ <> 0)
		FROM outcome WHERE rid >= $1 AND rid < $2 GROUP BY 1, 2`
	sqlLastSegment = `SELECT coalesce(max(id), 0) FROM segment`
	sqlFoldSpent   = `INSERT INTO spent (segment, quarter, connection, n) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
)

// Spent implements campaign.LimitLedger. It counts a page of segments at a time, each in a snapshot
// of its own, so that a long count keeps neither a write-ahead log growing nor dead rows from being
// cleaned up.
func (l *Ledger) Spent(ctx context.Context, since time.Time) (map[string]int64, error) {
	return ledger.CountSpent(since, func(quarter int64) (sum map[string]int64, last int64, err error) {
		err = l.db.Snapshot(ctx, func(each Each) error {
			sum = map[string]int64{}
			if _, err := one(each, []any{&last}, sqlLastSegment); err != nil {
				return err
			}
			return each(func(scan Scan) error {
				var connection string
				var n int64
				err := scan(&connection, &n)
				sum[connection] = n
				return err
			}, sqlKeptSpent, quarter)
		})
		return sum, last, err
	}, func(after, last int64) (page []ledger.SentSegment, groups map[int][]ledger.SpentGroup, err error) {
		err = l.db.Snapshot(ctx, func(each Each) (err error) {
			page, groups, err = spentPage(each, after, last, since)
			return err
		})
		return page, groups, err
	}, func(folds []ledger.Folded) error { return l.foldSpent(ctx, folds) })
}

// spentPage reads the page of segments behind the key after, and counts their outcomes.
func spentPage(each Each, after, last int64, since time.Time) (page []ledger.SentSegment, groups map[int][]ledger.SpentGroup, err error) {
	if err := each(add(&page, ledger.ScanSentSegment), sqlSpentSegments, after, last, ledger.Millis(since), ledger.SpentPage); err != nil {
		return nil, nil, err
	}
	groups = map[int][]ledger.SpentGroup{}
	for i, s := range page {
		var of []ledger.SpentGroup
		if err := each(add(&of, ledger.ScanSpentGroup), sqlSpent, s.From, s.To); err != nil {
			return nil, nil, err
		}
		groups[i] = of
	}
	return page, groups, nil
}

// foldSpent keeps the counts of done segments. A ledger that is open for reading keeps none.
func (l *Ledger) foldSpent(ctx context.Context, folds []ledger.Folded) error {
	if l.options.ReadOnly {
		return nil
	}
	return l.db.Change(ctx, Reports, func(t Tx) error {
		for _, f := range folds {
			if _, err := t.Exec(sqlFoldSpent, f.Segment, f.Quarter, f.Connection, f.N); err != nil {
				return err
			}
		}
		return nil
	})
}
