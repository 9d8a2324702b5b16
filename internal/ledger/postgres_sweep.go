package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5"
)

// orphanCount counts orphans exactly up to this many, and by the server's statistics beyond.
const orphanCount = 10_000

// Sweep implements campaign.EventLedger. Of several replicas that sweep at once one does,
// and the others find nothing to do.
func (l *Postgres) Sweep(ctx context.Context, now time.Time) (done campaign.Swept, err error) {
	if mutant.On("sweeper_off") {
		return done, nil
	}
	some := false
	if err := l.read(ctx, l.hooks, each(func(scan func(...any) error) error {
		some = true
		return nil
	}, `SELECT mh FROM orphan ORDER BY mh, message_id, rank LIMIT 1`)); err != nil || !some {
		return done, err
	}
	var matched int
	mine := false
	if err := l.change(ctx, l.hooks, "", func(t *pgTx) (err error) {
		matched, mine, err = t.absorbPage()
		return err
	}); err != nil || !mine {
		return done, err
	}
	// Only now, so that no orphan is judged whose message has just been found.
	err = l.change(ctx, l.hooks, "", func(t *pgTx) error {
		done = campaign.Swept{Matched: matched}
		if _, mine, err := t.sweeps(); err != nil || !mine {
			return err
		}
		if err := l.adoptAll(ctx, t, &done); err != nil {
			return err
		}
		return t.expire(now, &done)
	})
	if err != nil {
		return campaign.Swept{}, err
	}
	return done, nil
}

// sweptTo is the place of the sweep among the orphans.
type sweptTo struct {
	mh   int64
	id   string
	rank rank
}

// sweeps makes this transaction the one that sweeps; false when another replica's is.
func (t *pgTx) sweeps() (at sweptTo, mine bool, err error) {
	err = t.do(rowOf([]any{&at.mh, &at.id, &at.rank}, `SELECT mh, message_id, rank FROM sweep WHERE one = 1 FOR UPDATE SKIP LOCKED`))
	if errors.Is(err, pgx.ErrNoRows) {
		return at, false, nil
	}
	return at, err == nil, err
}

// absorbPage applies, of the next sweepStep orphans, those whose message is known. The
// transactions that record receipts absorb their own orphans; this is for what came in
// while they were at it. It reports false when another replica is sweeping.
func (t *pgTx) absorbPage() (matched int, mine bool, err error) {
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
		at.mh, at.id, int16(at.rank), sweepStep)); err != nil {
		return 0, false, err
	}
	if n < sweepStep {
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
func (t *pgTx) absorbInTwo(matched *int64) error {
	if err := t.do(stmt(nil, `UPDATE outcome o SET rank = greatest(o.rank, p.rank), sent_at = CASE p.rank WHEN 1 THEN least(o.sent_at, p.at) ELSE o.sent_at END,
		delivered_at = CASE p.rank WHEN 3 THEN least(o.delivered_at, p.at) ELSE o.delivered_at END, read_at = CASE p.rank WHEN 4 THEN least(o.read_at, p.at) ELSE o.read_at END,
		failed_at = CASE p.rank WHEN 2 THEN least(o.failed_at, p.at) ELSE o.failed_at END FROM orphan p WHERE o.mh = p.mh AND o.message_id = p.message_id`)); err != nil {
		return err
	}
	mutant.Crash("orphans_read")
	return t.do(stmt(matched, `DELETE FROM orphan o WHERE EXISTS (SELECT 1 FROM outcome x WHERE x.mh = o.mh AND x.message_id = o.message_id)`))
}

// adoptAll judges the orphans that a doubt may be about. What is in flight is read from
// one snapshot with them: a delivery that becomes a doubt in between is counted as both,
// which leaves the orphan for the next sweep. An intent that comes later cannot have sent a
// message that is already here.
func (l *Postgres) adoptAll(ctx context.Context, t *pgTx, done *campaign.Swept) error {
	var fitting []orphan
	var flying map[int64][]suspect
	if err := l.snapshot(ctx, l.hooks, func(s *pgTx) (err error) {
		fitting, flying, err = pgAdoptable(s)
		return err
	}); err != nil {
		return err
	}
	for _, o := range fitting {
		if err := t.adopt(o, flying[o.key], done); err != nil {
			return err
		}
	}
	return nil
}

// pgAdoptable finds the orphans that a doubt may be about, and what of the same recipients was in flight.
func pgAdoptable(t *pgTx) (fitting []orphan, flying map[int64][]suspect, err error) {
	var near []orphan
	// Driven by the doubts, of which there are few, not by the orphans.
	if err := t.do(each(func(scan func(...any) error) error {
		var o orphan
		err := scan(&o.mh, &o.messageID, &o.key, &o.connection, &o.first)
		near = append(near, o)
		return err
	}, `WITH n AS MATERIALIZED (SELECT DISTINCT p.mh, p.message_id FROM outcome d
			CROSS JOIN LATERAL (SELECT mh, message_id FROM orphan WHERE key = d.key AND key <> 0 OFFSET 0) p WHERE d.state IN (3, 4))
		SELECT n.mh, n.message_id, o.* FROM n CROSS JOIN LATERAL (
			SELECT max(key), max(connection), min(at) FROM orphan WHERE mh = n.mh AND message_id = n.message_id) o`)); err != nil || len(near) == 0 {
		return nil, nil, err
	}
	keys := make([]int64, 0, len(near))
	for _, o := range near {
		keys = append(keys, o.key)
	}
	doubts, err := t.doubtsOf(keys)
	if err != nil {
		return nil, nil, err
	}
	keys = keys[:0]
	for _, o := range near {
		if v := judge(o, doubts[o.key]); v.adopt != 0 || len(v.ambiguous) > 0 {
			fitting = append(fitting, o)
			keys = append(keys, o.key)
		}
	}
	if len(fitting) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(fitting, byFirst)
	flying, err = t.inFlight(keys)
	return fitting, flying, err
}

// doubtsOf reads the doubts and unknowns of recipients, over all runs.
func (t *pgTx) doubtsOf(keys []int64) (map[int64][]suspect, error) {
	found := map[int64][]suspect{}
	slices.Sort(keys)
	return found, t.do(each(func(scan func(...any) error) error {
		var s suspect
		var key int64
		err := scan(&s.rid, &key, &s.connection, &s.intentAt, &s.since)
		found[key] = append(found[key], s)
		return err
	}, `SELECT d.rid, d.key, CASE WHEN d.flags & 32 <> 0 THEN '' ELSE coalesce(s.connection, '') END, coalesce(d.intent_at, 0), coalesce(d.result_at, 0) FROM unnest($1::bigint[]) k
		CROSS JOIN LATERAL (SELECT rid, key, flags, intent_at, result_at FROM outcome WHERE key = k AND state IN (3, 4) OFFSET 0) d
		LEFT JOIN LATERAL (SELECT connection FROM segment x WHERE x.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) OFFSET 0) s ON true`, slices.Compact(slices.Clone(keys))))
}

// inFlight reads what of these recipients was posted, or may be, without a result. It looks
// into the segments that lack outcomes only.
func (t *pgTx) inFlight(keys []int64) (map[int64][]suspect, error) {
	found := map[int64][]suspect{}
	add := func(scan func(...any) error) error {
		s := suspect{open: true}
		var key int64
		err := scan(&s.rid, &key, &s.connection, &s.intentAt)
		found[key] = append(found[key], s)
		return err
	}
	return found, t.do(
		each(add, `WITH part AS MATERIALIZED (SELECT (run << 32) + lo AS first, (run << 32) + mark AS marked, connection, intents_since
				FROM segment WHERE NOT done AND mark > lo),
			short AS MATERIALIZED (SELECT p.* FROM part p WHERE (SELECT count(*) FROM outcome WHERE rid >= p.first AND rid < p.marked) < p.marked - p.first)
			SELECT d.rid, d.key, p.connection, p.intents_since FROM short p CROSS JOIN LATERAL (
				SELECT d.rid, d.key FROM delivery d WHERE d.rid >= p.first AND d.rid < p.marked AND d.key = ANY($1) AND `+pgNoOutcome+` OFFSET 0) d`, keys),
		each(add, `SELECT o.rid, d.key, s.connection, s.intents_since FROM segment s
			CROSS JOIN LATERAL (SELECT rid FROM outcome WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state = 2 OFFSET 0) o
			CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid OFFSET 0) d
			WHERE NOT s.done AND s.mark > s.lo AND d.key = ANY($1)`, keys))
}

// adopt judges an orphan again inside the transaction and acts on it.
func (t *pgTx) adopt(o orphan, flying []suspect, done *campaign.Swept) error {
	doubts, err := t.doubtsOf([]int64{o.key})
	if err != nil {
		return err
	}
	switch v := judge(o, append(doubts[o.key], flying...)); {
	case v.adopt != 0:
		var n, matched int64
		if err := t.do(stmt(&n, `UPDATE outcome SET state = 5, flags = flags | 1, mh = $2, message_id = $3, result_at = $4,
			code = NULL, detail = NULL, key = NULL, intent_at = NULL WHERE rid = $1 AND state IN (3, 4) AND EXISTS (SELECT 1 FROM orphan WHERE mh = $2 AND message_id = $3)`,
			v.adopt, o.mh, o.messageID, o.first)); err != nil || n == 0 {
			return err
		}
		done.Adopted++
		return t.do(absorb(&matched, []int64{o.mh}))
	case len(v.ambiguous) > 0:
		done.Ambiguous++
		return t.do(stmt(nil, `UPDATE outcome SET flags = flags | 8 WHERE rid = ANY($1) AND flags & 8 = 0`, v.ambiguous))
	}
	return nil
}

// expire drops orphans that are too old or too many, oldest first, and counts what is left.
func (t *pgTx) expire(now time.Time, done *campaign.Swept) error {
	const oldest = `WITH x AS MATERIALIZED (SELECT mh, message_id, rank FROM orphan WHERE received_at < $1 ORDER BY received_at LIMIT $2)
		DELETE FROM orphan o USING x WHERE o.mh = ANY(ARRAY(SELECT mh FROM x)) AND o.mh = x.mh AND o.message_id = x.message_id AND o.rank = x.rank`
	var n, left int64
	if err := t.do(stmt(&n, oldest, millis(now.Add(-orphanAge)), sweepStep),
		row(&left, `SELECT count(*) FROM (SELECT 1 FROM orphan ORDER BY mh, message_id, rank LIMIT $1) x`, orphanCount)); err != nil {
		return err
	}
	if left == orphanCount {
		if err := t.do(row(&left, `SELECT greatest($1, reltuples)::bigint FROM pg_class WHERE oid = 'orphan'::regclass`, int64(orphanCount))); err != nil {
			return err
		}
	}
	if excess := min(left-orphanCap, 10*sweepStep); excess > 0 {
		var m int64
		if err := t.do(stmt(&m, oldest, int64(1)<<62, excess)); err != nil {
			return err
		}
		n, left = n+m, left-m
	}
	done.Expired, done.Left = int(n), int(left)
	return nil
}

// LastEventAt implements campaign.ReportLedger, to a tenth of a second.
func (l *Postgres) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	var at int64
	err := l.read(ctx, l.reports, row(&at, `SELECT event_at FROM run_event WHERE no = $1`, int64(no)))
	if errors.Is(err, pgx.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return timeOf(at), err
}
