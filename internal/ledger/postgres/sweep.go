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

// sqlAnyOrphan reads the first orphan by the primary key: no plan reads more.
const sqlAnyOrphan = `SELECT mh FROM orphan ORDER BY mh, message_id, rank LIMIT 1`

// Sweep implements campaign.EventLedger. When several replicas sweep at the same time, one does the
// work and the others find nothing to do. It commits in several transactions: when one fails, those
// before it are committed, and the result that comes with the error counts them.
func (l *Ledger) Sweep(ctx context.Context, now time.Time) (done campaign.Swept, err error) {
	if err := l.ForgetPeople(ctx, now); err != nil {
		return done, err
	}
	if err := l.SweepWishes(ctx, &done, l.Apply); err != nil {
		return done, err
	}
	var some []int64
	if err := l.read(ctx, l.hooks, list(&some, scanID, sqlAnyOrphan)); err != nil || len(some) == 0 {
		return done, err
	}
	mine := false
	var told absorbed
	if err := l.change(ctx, l.hooks, "", func(t *tx) (err error) {
		told, mine, err = t.absorbPage()
		return err
	}); err != nil || !mine {
		return campaign.Swept{}, err
	}
	done.Matched = int(told.n)
	l.holdAbsorbed(ctx, told)
	// After absorbPage, so that it considers no orphan whose message has just been found.
	if mine, err = l.adoptAll(ctx, &done); err != nil || !mine {
		return done, err
	}
	return done, l.expire(ctx, now, ledger.OrphanCap, &done)
}

// sweepPos is where the search by message id goes on. Each sweep looks at ledger.SweepStep orphans.
type sweepPos struct {
	mh        int64
	messageID string
	rank      ledger.Rank
}

const sqlLockSweep = `SELECT mh, message_id, rank FROM sweep WHERE one = 1 FOR UPDATE SKIP LOCKED`

// sweeps locks the sweep for this transaction and returns where it goes on. It reports false when a
// transaction of another replica has the lock.
func (t *tx) sweeps() (at sweepPos, mine bool, err error) {
	err = t.do(rowOf([]any{&at.mh, &at.messageID, &at.rank}, sqlLockSweep))
	if errors.Is(err, pgx.ErrNoRows) {
		return at, false, nil
	}
	return at, err == nil, err
}

const (
	sqlOrphanPage = `SELECT mh, message_id, rank FROM orphan WHERE (mh, message_id, rank) > ($1, $2, $3::smallint)
		ORDER BY mh, message_id, rank LIMIT $4`
	sqlSetSweep = `UPDATE sweep SET mh = $1, message_id = $2, rank = $3 WHERE one = 1`
)

// absorbPage applies, among the next ledger.SweepStep orphans, those whose message is known. The
// transactions that record receipts absorb their own orphans; this search finds the events that
// were stored at the same time. It reports false when another replica is sweeping.
func (t *tx) absorbPage() (told absorbed, mine bool, err error) {
	at, mine, err := t.sweeps()
	if err != nil || !mine {
		return told, false, err
	}
	n := 0
	var mhs []int64
	if err := t.do(each(func(scan scanFunc) error {
		n++
		err := scan(&at.mh, &at.messageID, &at.rank)
		mhs = append(mhs, at.mh)
		return err
	}, sqlOrphanPage, at.mh, at.messageID, int16(at.rank), ledger.SweepStep)); err != nil {
		return told, false, err
	}
	if n < ledger.SweepStep {
		at = sweepPos{mh: -1 << 63}
	}
	mutant.Crash("orphans_read")
	if err := t.do(absorb(&told, slices.Compact(mhs), t.options.Platform())); err != nil {
		return told, false, err
	}
	return told, true, t.do(stmt(nil, sqlSetSweep, at.mh, at.messageID, int16(at.rank)))
}

// Limits of what one sweep does about orphans over their cap.
const (
	orphanCount = 10_000          // counted exactly up to here, and by the server's statistics beyond
	excessTime  = 2 * time.Second // no other transaction begins after it
	excessRest  = time.Minute     // until the next search for the oldest that is kept: it reads the index of all of them
)

const (
	// The $2 oldest orphans of those received before $1, by their position in the table. A join would
	// be a nested loop over all pairs: with 50,000 of them it exceeds every time limit.
	sqlExpireOrphans = `DELETE FROM orphan WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM orphan WHERE received_at < $1 ORDER BY received_at LIMIT $2))`
	sqlCountOrphans    = `SELECT count(*) FROM (SELECT 1 FROM orphan ORDER BY mh, message_id, rank LIMIT $1) x`
	sqlEstimateOrphans = `SELECT greatest($1, reltuples)::bigint FROM pg_class WHERE oid = 'orphan'::regclass`
	sqlOldestKept      = `SELECT received_at FROM orphan ORDER BY received_at DESC OFFSET $1::bigint - 1 LIMIT 1`
)

// expire deletes the orphans that are too old and those over the cap, oldest first, and counts the
// others. Each step is a transaction of its own.
func (l *Ledger) expire(ctx context.Context, now time.Time, most int64, done *campaign.Swept) error {
	remove := func(before int64, more ...*query) (n int64, mine bool, err error) {
		err = l.change(ctx, l.hooks, "", func(t *tx) (err error) {
			if _, mine, err = t.sweeps(); err == nil && mine {
				err = t.do(append([]*query{stmt(&n, sqlExpireOrphans, before, ledger.SweepStep)}, more...)...)
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
	if _, mine, err := remove(ledger.Millis(now.Add(-ledger.OrphanAge)), row(&left, sqlCountOrphans, orphanCount)); err != nil || !mine {
		return err
	}
	if done.Left = int(left); left < orphanCount {
		return nil
	}
	if err := l.read(ctx, l.hooks, row(&left, sqlEstimateOrphans, int64(orphanCount))); err != nil {
		return err
	}
	if done.Left = int(left); left <= most || time.Now().UnixNano() < l.searchExcessAt.Load() {
		return nil
	}
	var kept []int64
	if err := l.read(ctx, l.hooks, list(&kept, scanID, sqlOldestKept, most)); err != nil {
		return err
	}
	for until := time.Now().Add(excessTime); len(kept) > 0; {
		n, mine, err := remove(kept[0])
		if err != nil || !mine {
			return err
		}
		done.Left -= int(n)
		if n < ledger.SweepStep {
			break
		}
		if time.Now().After(until) {
			return nil // the next sweep goes on
		}
	}
	l.searchExcessAt.Store(time.Now().Add(excessRest).UnixNano())
	return nil
}
