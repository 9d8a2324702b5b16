package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5"
)

// orphanCount counts orphans exactly up to this many, and by the server's statistics beyond.
const orphanCount = 10_000

// Sweep implements campaign.EventLedger. Of several replicas that sweep at once one does,
// and the others find nothing to do. Each of its transactions stands for itself: when one fails, what those before it did
// is in the ledger and in what is returned with the error.
func (l *Ledger) Sweep(ctx context.Context, now time.Time) (done campaign.Swept, err error) {
	if mutant.On("sweeper_off") {
		return done, nil
	}
	var some []int64
	if err := l.read(ctx, l.hooks, list(&some, func(scan func(...any) error) (mh int64, err error) {
		err = scan(&mh)
		return mh, err
	}, `SELECT mh FROM orphan ORDER BY mh, message_id, rank LIMIT 1`)); err != nil || len(some) == 0 {
		return done, err
	}
	mine := false
	if err := l.change(ctx, l.hooks, "", func(t *tx) (err error) {
		done.Matched, mine, err = t.absorbPage()
		return err
	}); err != nil || !mine {
		return campaign.Swept{}, err
	}
	// Only now, so that no orphan is judged whose message has just been found.
	if mine, err = l.adoptAll(ctx, &done); err != nil || !mine {
		return done, err
	}
	return done, l.expire(ctx, now, ledger.OrphanCap, &done)
}

// sweptTo is the place of the sweep among the orphans.
type sweptTo struct {
	mh   int64
	id   string
	rank ledger.Rank
}

// sweeps makes this transaction the one that sweeps; false when another replica's is.
func (t *tx) sweeps() (at sweptTo, mine bool, err error) {
	err = t.do(rowOf([]any{&at.mh, &at.id, &at.rank}, `SELECT mh, message_id, rank FROM sweep WHERE one = 1 FOR UPDATE SKIP LOCKED`))
	if errors.Is(err, pgx.ErrNoRows) {
		return at, false, nil
	}
	return at, err == nil, err
}

// absorbPage applies, of the next sweepStep orphans, those whose message is known. The
// transactions that record receipts absorb their own orphans; this is for what came in
// while they were at it. It reports false when another replica is sweeping.
func (t *tx) absorbPage() (matched int, mine bool, err error) {
	at, mine, err := t.sweeps()
	if err != nil || !mine {
		return 0, false, err
	}
	n := 0
	var mhs []int64
	if err := t.do(each(func(scan func(...any) error) error {
		n++
		err := scan(&at.mh, &at.id, &at.rank)
		mhs = append(mhs, at.mh)
		return err
	}, `SELECT mh, message_id, rank FROM orphan WHERE (mh, message_id, rank) > ($1, $2, $3::smallint) ORDER BY mh, message_id, rank LIMIT $4`,
		at.mh, at.id, int16(at.rank), ledger.SweepStep)); err != nil {
		return 0, false, err
	}
	if n < ledger.SweepStep {
		at = sweptTo{mh: -1 << 63}
	}
	var found int64
	if mutant.On("two_statement_sweeper") {
		err = t.absorbInTwo(&found)
	} else {
		mutant.Crash("orphans_read")
		err = t.do(absorb(&found, slices.Compact(mhs)))
	}
	if err != nil {
		return 0, false, err
	}
	return int(found), true, t.do(stmt(nil, `UPDATE sweep SET mh = $1, message_id = $2, rank = $3 WHERE one = 1`, at.mh, at.id, int16(at.rank)))
}

// absorbInTwo is the mistake that reliability.md 2.2 measured (mutant two_statement_sweeper).
func (t *tx) absorbInTwo(matched *int64) error {
	if err := t.do(stmt(nil, `UPDATE outcome o SET rank = greatest(o.rank, p.rank), sent_at = CASE p.rank WHEN 1 THEN least(o.sent_at, p.at) ELSE o.sent_at END,
		delivered_at = CASE p.rank WHEN 3 THEN least(o.delivered_at, p.at) ELSE o.delivered_at END, read_at = CASE p.rank WHEN 4 THEN least(o.read_at, p.at) ELSE o.read_at END,
		failed_at = CASE p.rank WHEN 2 THEN least(o.failed_at, p.at) ELSE o.failed_at END FROM orphan p WHERE o.mh = p.mh AND o.message_id = p.message_id`)); err != nil {
		return err
	}
	mutant.Crash("orphans_read")
	return t.do(stmt(matched, `DELETE FROM orphan o WHERE EXISTS (SELECT 1 FROM outcome x WHERE x.mh = o.mh AND x.message_id = o.message_id)`))
}

// dropOldest deletes the $2 oldest orphans of those that came before $1. By their place: a join would be made by a nested loop
// over all pairs, which with 50,000 of them is past any time-out.
const dropOldest = `DELETE FROM orphan WHERE ctid = ANY(ARRAY(SELECT ctid FROM orphan WHERE received_at < $1 ORDER BY received_at LIMIT $2))`

// Bounds of what one sweep does to keep the orphans to their number.
const (
	excessCount = 200_000         // how many beyond it are counted: a flood's half minute
	excessTime  = 2 * time.Second // after it no other transaction is begun
	excessRest  = 20              // times as long as a count took, until the next: it reads all of them
)

// expire drops orphans that are too old or more than most, oldest first, and counts what is left. Each step is a
// transaction of its own.
func (l *Ledger) expire(ctx context.Context, now time.Time, most int64, done *campaign.Swept) error {
	drop := func(before, limit int64, more ...*query) (n int64, mine bool, err error) {
		err = l.change(ctx, l.hooks, "", func(t *tx) (err error) {
			if _, mine, err = t.sweeps(); err == nil && mine {
				err = t.do(append([]*query{stmt(&n, dropOldest, before, limit)}, more...)...)
			}
			return err
		})
		if err != nil || !mine {
			return 0, mine, err
		}
		done.Expired += int(n)
		return n, true, nil
	}
	var left int64
	if _, mine, err := drop(ledger.Millis(now.Add(-ledger.OrphanAge)), ledger.SweepStep,
		row(&left, `SELECT count(*) FROM (SELECT 1 FROM orphan ORDER BY mh, message_id, rank LIMIT $1) x`, orphanCount)); err != nil || !mine {
		return err
	}
	if done.Left = int(left); left < orphanCount {
		return nil
	}
	if err := l.read(ctx, l.hooks, row(&left, `SELECT greatest($1, reltuples)::bigint FROM pg_class WHERE oid = 'orphan'::regclass`, int64(orphanCount))); err != nil {
		return err
	}
	if done.Left = int(left); left <= most || time.Now().UnixNano() < l.countOrphansAt.Load() {
		return nil
	}
	// The statistics are as old as the last autovacuum: nothing is dropped on their word.
	began := time.Now()
	if err := l.read(ctx, l.hooks, row(&left, `SELECT count(*) FROM (SELECT 1 FROM orphan ORDER BY received_at LIMIT $1) x`, most+excessCount)); err != nil {
		return err
	}
	took := time.Since(began)
	for excess := left - most; excess > 0; {
		n, mine, err := drop(1<<62, min(excess, ledger.SweepStep))
		if err != nil || !mine {
			return err
		}
		excess, left = excess-n, left-n
		if done.Left = int(left); n == 0 || time.Since(began) > excessTime {
			return nil // counted again at the next sweep
		}
	}
	done.Left = int(left)
	l.countOrphansAt.Store(time.Now().Add(excessRest * took).UnixNano())
	return nil
}
