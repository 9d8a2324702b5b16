package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
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

const (
	sqlRamps   = `SELECT connection, day, steps, cut FROM ramp`
	sqlSetRamp = `INSERT INTO ramp (connection, day, steps, cut) SELECT ?1, ?2, ?3, ?4
		WHERE ?5 = 0 OR EXISTS (SELECT 1 FROM ramp WHERE connection = ?1)
		ON CONFLICT (connection) DO UPDATE SET day = ?2, steps = ?3, cut = ?4 WHERE day = ?5 AND steps = ?6 AND cut = ?7`
)

// Ramps implements campaign.LimitLedger.
func (l *Ledger) Ramps(ctx context.Context) (map[string]campaign.RampState, error) {
	all := map[string]campaign.RampState{}
	err := l.read().each(ctx, sqlRamps, nil, func(scan scanFunc) error {
		var connection string
		var s campaign.RampState
		err := scan(&connection, &s.Day, &s.Steps, &s.Cut)
		all[connection] = s
		return err
	})
	return all, err
}

// SetRamp implements campaign.LimitLedger.
func (l *Ledger) SetRamp(ctx context.Context, connection string, from, to campaign.RampState) (changed bool, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		n, err := t.exec(sqlSetRamp, connection, to.Day, to.Steps, to.Cut, from.Day, from.Steps, from.Cut)
		changed = n == 1
		return err
	})
	return changed, err
}

const (
	sqlPlan    = `SELECT messages FROM plan`
	sqlSetPlan = `INSERT INTO plan (one, messages) VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET messages = ?1`
)

// SetPlan implements campaign.LimitLedger.
func (l *Ledger) SetPlan(ctx context.Context, messages int64) (before int64, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		if err := t.row(sqlPlan, nil, &before); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		_, err := t.exec(sqlSetPlan, messages)
		return err
	})
	return before, err
}
