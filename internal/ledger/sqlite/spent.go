package sqlite

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const (
	sqlKeptSpent     = `SELECT connection, sum(n) FROM spent WHERE quarter >= ? GROUP BY connection`
	sqlSpentSegments = `SELECT s.id, s.lo, s.mark, s.hi, s.done, s.connection FROM segment s JOIN run r ON r.no = s.run
		WHERE s.id > ? AND s.id <= ? AND s.mark > s.lo AND (r.ended_at = 0 OR r.ended_at >= ?)
			AND NOT (s.done AND EXISTS (SELECT 1 FROM spent p WHERE p.segment = s.id))
		ORDER BY s.id LIMIT ?`
	sqlSpent = `SELECT connection, result_at / 900000 /* a quarter of an hour */, count(*),
			sum(state = 3 /* in doubt */ OR state = 4 /* unknown */ OR state = 5 /* accepted */),
			sum(state = 2 /* retrying */), sum(flags & 2 /* may be a duplicate */ <> 0)
		FROM outcome WHERE rid >= ? AND rid < ? GROUP BY 1, 2`
	sqlLastSegment = `SELECT coalesce(max(id), 0) FROM segment`
	sqlFoldSpent   = `INSERT INTO spent (segment, quarter, connection, n) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
)

// Spent implements campaign.LimitLedger. It counts a page of segments at a time, each in a snapshot
// of its own, so that the write-ahead log does not grow during a long count.
func (l *Ledger) Spent(ctx context.Context, since time.Time) (map[string]int64, error) {
	return ledger.CountSpent(since, func(quarter int64) (sum map[string]int64, last int64, err error) {
		sum = map[string]int64{}
		err = l.snapshot(ctx, func(r reader) error {
			if err := r.row(ctx, sqlLastSegment, nil, &last); err != nil {
				return err
			}
			return r.each(ctx, sqlKeptSpent, args(quarter), func(scan scanFunc) error {
				var connection string
				var n int64
				err := scan(&connection, &n)
				sum[connection] = n
				return err
			})
		})
		return sum, last, err
	}, func(after, last int64) (page []ledger.SentSegment, groups map[int][]ledger.SpentGroup, err error) {
		groups = map[int][]ledger.SpentGroup{}
		err = l.snapshot(ctx, func(r reader) error {
			a := args(after, last, ledger.Millis(since), ledger.SpentPage)
			if err := r.each(ctx, sqlSpentSegments, a, list(&page, ledger.ScanSentSegment)); err != nil {
				return err
			}
			for i, s := range page {
				if err := r.each(ctx, sqlSpent, args(s.From, s.To), func(scan scanFunc) error {
					g, err := ledger.ScanSpentGroup(scan)
					groups[i] = append(groups[i], g)
					return err
				}); err != nil {
					return err
				}
			}
			return nil
		})
		return page, groups, err
	}, func(folds []ledger.Folded) error { return l.fold(ctx, folds) })
}

// fold keeps the counts of done segments. A ledger that is open for reading keeps none.
func (l *Ledger) fold(ctx context.Context, folds []ledger.Folded) error {
	if l.writer == nil {
		return nil
	}
	return l.submit(ctx, &op{urgency: bulk, rows: len(folds), run: func(t *tx) error {
		for _, f := range folds {
			if _, err := t.exec(sqlFoldSpent, f.Segment, f.Quarter, f.Connection, f.N); err != nil {
				return err
			}
		}
		return nil
	}})
}
