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

const (
	adoptStep   = 1_000                  // recipients looked at for one transaction of adoptions: a tenth of a second
	adoptSearch = 200 * time.Millisecond // of each sweep's time, where none is found: a million orphans among a million unknowns are some minutes' search
)

// Sweep implements campaign.EventLedger. Of several replicas that sweep at once one does,
// and the others find nothing to do. Each of its transactions stands for itself: when one fails, what those before it did
// is in the ledger and in what is returned with the error.
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
	mine := false
	if err := l.change(ctx, l.hooks, "", func(t *pgTx) (err error) {
		done.Matched, mine, err = t.absorbPage()
		return err
	}); err != nil || !mine {
		return campaign.Swept{}, err
	}
	// Only now, so that no orphan is judged whose message has just been found.
	if mine, err = l.adoptAll(ctx, &done); err != nil || !mine {
		return done, err
	}
	return done, l.expire(ctx, now, orphanCap, &done)
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

// adoptAll judges the orphans that a doubt may be about, a page of recipients at a time, from where the last sweep's time
// was up. So however many there are, and however many stay ambiguous, each has its turn. It reports false when another
// replica is sweeping.
func (l *Postgres) adoptAll(ctx context.Context, done *campaign.Swept) (mine bool, err error) {
	search := time.Duration(0) // how long nothing was found
	for until := time.Now().Add(adoptTime); ; {
		began, before := time.Now(), *done
		mine, err := l.adoptPage(ctx, done)
		if err != nil || !mine || l.adoptedTo.Load() == 0 || time.Now().After(until) {
			return mine, err
		}
		if *done == before {
			search += time.Since(began)
		}
		if search > adoptSearch {
			return mine, nil
		}
	}
}

// adoptionPage is a page of what may be adopted, as one snapshot shows it.
type adoptionPage struct {
	fitting []orphan
	keys    []int64             // of theirs
	then    map[int64][]suspect // by key: what was in doubt, and what was in flight
	to      int64               // the last key looked at; 0: there is none after it
}

// adoptPage adopts what it finds among the next adoptStep recipients. What is in flight is read from
// one snapshot with the orphans: a delivery that becomes a doubt in between is counted as both,
// which leaves the orphan for the next sweep, and so does one that was a doubt and is none any more. An intent that comes later
// cannot have sent a message that is already here. The snapshot is over before the transaction begins, which so never stands idle.
func (l *Postgres) adoptPage(ctx context.Context, done *campaign.Swept) (mine bool, err error) {
	var p adoptionPage
	if err := l.snapshot(ctx, l.hooks, func(s *pgTx) (err error) {
		p, err = pgAdoptable(s, l.adoptedTo.Load())
		return err
	}); err != nil {
		return true, err
	}
	if mine = true; len(p.fitting) > 0 {
		var adopted int64
		var ambiguous int
		err = l.change(ctx, l.hooks, "", func(t *pgTx) (err error) {
			adopted, ambiguous = 0, 0
			_, mine, err = t.sweeps()
			if err == nil && mine {
				ambiguous, err = t.adopt(p, &adopted)
			}
			return err
		})
		if err == nil {
			done.Adopted, done.Ambiguous = done.Adopted+int(adopted), done.Ambiguous+ambiguous
		}
	}
	if mine {
		l.adoptedTo.Store(p.to) // also when it failed, or one page would keep the others waiting
	}
	return mine, err
}

// pgCommon finds the recipients of orphans that a doubt is about, beyond the key $1, in $2 steps at most: it leaps from the next
// orphan's key to the doubt's at or after it, and back. So a sweep costs what the fewer of them are, a few orphans among a
// million unknowns as little as a few doubts among a million orphans.
const pgCommon = `WITH RECURSIVE walk AS (SELECT $1::bigint AS key, false AS hit UNION ALL
		SELECT CASE WHEN d.key = o.key THEN o.key ELSE d.key - 1 END, d.key = o.key FROM walk
		CROSS JOIN LATERAL (SELECT key FROM orphan WHERE key > walk.key AND key <> 0 ORDER BY key LIMIT 1) o
		CROSS JOIN LATERAL (SELECT key FROM outcome WHERE key >= o.key AND state IN (3, 4) ORDER BY key LIMIT 1) d)
	SELECT key, hit FROM walk LIMIT $2`

// pgAdoptable finds the orphans of the recipients after this key that a doubt may be about, and what of the same recipients was in flight.
func pgAdoptable(t *pgTx, after int64) (p adoptionPage, err error) {
	steps := 0
	var keys []int64
	if err := t.do(each(func(scan func(...any) error) error {
		var hit bool
		err := scan(&p.to, &hit)
		if steps++; hit {
			keys = append(keys, p.to)
		}
		return err
	}, pgCommon, after, adoptStep)); err != nil {
		return p, err
	}
	if steps < adoptStep {
		p.to = 0
	}
	if len(keys) == 0 {
		return p, nil
	}
	var near []orphan
	doubts := map[int64][]suspect{}
	if err := t.do(pgOrphans(keys, &near), pgDoubts(keys, doubts)); err != nil {
		return p, err
	}
	for _, o := range near {
		if v := judge(o, doubts[o.key]); v.adopt != 0 || len(v.ambiguous) > 0 {
			p.fitting, p.keys = append(p.fitting, o), append(p.keys, o.key)
		}
	}
	if len(p.fitting) == 0 {
		return p, nil
	}
	slices.Sort(p.keys)
	p.keys = slices.Compact(p.keys)
	p.then, err = t.inFlight(p.keys)
	for _, k := range p.keys {
		p.then[k] = append(p.then[k], doubts[k]...)
	}
	return p, err
}

// pgOrphans reads the orphans of recipients. One whose events name two of them belongs to the greater.
func pgOrphans(keys []int64, found *[]orphan) *query {
	return list(found, func(scan func(...any) error) (o orphan, err error) {
		err = scan(&o.mh, &o.messageID, &o.key, &o.connection, &o.first)
		return o, err
	}, `WITH n AS MATERIALIZED (SELECT DISTINCT k, p.mh, p.message_id FROM unnest($1::bigint[]) k
			CROSS JOIN LATERAL (SELECT mh, message_id FROM orphan WHERE key = k AND key <> 0 OFFSET 0) p)
		SELECT n.mh, n.message_id, o.* FROM n CROSS JOIN LATERAL (
			SELECT max(key) AS key, max(connection), min(at) FROM orphan WHERE mh = n.mh AND message_id = n.message_id) o WHERE o.key = n.k`, keys)
}

// pgDoubts reads the doubts and unknowns of recipients, over all runs.
func pgDoubts(keys []int64, found map[int64][]suspect) *query {
	return each(func(scan func(...any) error) error {
		var s suspect
		var key int64
		err := scan(&s.rid, &key, &s.connection, &s.intentAt, &s.since)
		found[key] = append(found[key], s)
		return err
	}, `SELECT d.rid, d.key, CASE WHEN d.flags & 32 <> 0 THEN '' ELSE coalesce(s.connection, '') END, coalesce(d.intent_at, 0), coalesce(d.result_at, 0) FROM unnest($1::bigint[]) k
		CROSS JOIN LATERAL (SELECT rid, key, flags, intent_at, result_at FROM outcome WHERE key = k AND state IN (3, 4) OFFSET 0) d
		LEFT JOIN LATERAL (SELECT connection FROM segment x WHERE x.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) OFFSET 0) s ON true`, keys)
}

// inFlight reads what of these recipients was posted, or may be, without a result. It looks
// into the segments that lack outcomes only. IS TRUE makes the keys a hash: with = ANY each of 4,096 deliveries is compared with every
// key, and 50 lanes that send made 1,000 keys 1.8 s, 20,000 a time-out each time.
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
				SELECT d.rid, d.key FROM delivery d WHERE d.rid >= p.first AND d.rid < p.marked AND (d.key IN (SELECT unnest($1::bigint[]))) IS TRUE AND `+pgNoOutcome+` OFFSET 0) d`, keys),
		each(add, `SELECT o.rid, d.key, s.connection, s.intents_since FROM segment s
			CROSS JOIN LATERAL (SELECT rid FROM outcome WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state = 2 OFFSET 0) o
			CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid OFFSET 0) d
			WHERE NOT s.done AND s.mark > s.lo AND (d.key IN (SELECT unnest($1::bigint[]))) IS TRUE`, keys))
}

// pgAdopt gives the deliveries $1 the messages $2, $3, whose earliest event is $4, where they are still in doubt and the
// message is still an orphan. As an upsert: see pgForward.
const pgAdopt = `INSERT INTO outcome AS o (rid, state, mh, message_id, result_at)
	SELECT x.rid, 5, a.mh, a.id, a.at FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) a (rid, mh, id, at)
	CROSS JOIN LATERAL (SELECT rid FROM outcome WHERE rid = a.rid AND state IN (3, 4) OFFSET 0) x
	CROSS JOIN LATERAL (SELECT 1 FROM orphan WHERE mh = a.mh AND message_id = a.id LIMIT 1) p ORDER BY x.rid
	ON CONFLICT (rid) DO UPDATE SET state = 5, flags = o.flags | 1, mh = excluded.mh, message_id = excluded.message_id, result_at = excluded.result_at,
		code = NULL, detail = NULL, key = NULL, intent_at = NULL WHERE o.state IN (3, 4)`

// adopt judges each orphan of the page again inside the transaction and acts on it, at the commit. Of one recipient's it adopts one; whether
// another fits what is then left is for the next sweep to say. It returns how many are ambiguous; n takes how many deliveries
// are proven.
func (t *pgTx) adopt(p adoptionPage, n *int64) (ambiguous int, err error) {
	var near []orphan
	doubts := map[int64][]suspect{}
	if err := t.do(pgOrphans(p.keys, &near), pgDoubts(p.keys, doubts)); err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, o := range p.fitting {
		seen[o.messageID] = true
	}
	slices.SortFunc(near, byFirst)
	var rids, mhs, firsts, unsure []int64
	var ids []string
	adopted := map[int64]bool{}
	for _, o := range near {
		if !seen[o.messageID] || adopted[o.key] {
			continue // what was in flight when it came in is not known
		}
		switch v := judge(o, suspects(doubts[o.key], p.then[o.key])); {
		case v.adopt != 0:
			adopted[o.key] = true
			rids, mhs, ids, firsts = append(rids, v.adopt), append(mhs, o.mh), append(ids, o.messageID), append(firsts, o.first)
		case len(v.ambiguous) > 0:
			ambiguous++
			unsure = append(unsure, v.ambiguous...)
		}
	}
	if len(rids) > 0 {
		t.last(stmt(n, pgAdopt, rids, mhs, ids, firsts), absorb(new(int64), slices.Sorted(slices.Values(mhs))))
	}
	if len(unsure) > 0 {
		slices.Sort(unsure)
		t.last(stmt(nil, `UPDATE outcome SET flags = flags | 8 WHERE rid = ANY($1) AND flags & 8 = 0 AND state IN (3, 4)`, slices.Compact(unsure)))
	}
	return ambiguous, nil
}

// pgDropOldest deletes the $2 oldest orphans of those that came before $1. By their place: a join would be made by a nested loop
// over all pairs, which with 50,000 of them is past any time-out.
const pgDropOldest = `DELETE FROM orphan WHERE ctid = ANY(ARRAY(SELECT ctid FROM orphan WHERE received_at < $1 ORDER BY received_at LIMIT $2))`

// Bounds of what one sweep does to keep the orphans to their number.
const (
	excessCount = 200_000         // how many beyond it are counted: a flood's half minute
	excessTime  = 2 * time.Second // after it no other transaction is begun
	excessRest  = 20              // times as long as a count took, until the next: it reads all of them
)

// expire drops orphans that are too old or more than most, oldest first, and counts what is left. Each step is a
// transaction of its own.
func (l *Postgres) expire(ctx context.Context, now time.Time, most int64, done *campaign.Swept) error {
	drop := func(before, limit int64, more ...*query) (n int64, mine bool, err error) {
		err = l.change(ctx, l.hooks, "", func(t *pgTx) (err error) {
			if _, mine, err = t.sweeps(); err == nil && mine {
				err = t.do(append([]*query{stmt(&n, pgDropOldest, before, limit)}, more...)...)
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
	if _, mine, err := drop(millis(now.Add(-orphanAge)), sweepStep,
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
		n, mine, err := drop(1<<62, min(excess, sweepStep))
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

// LastEventAt implements campaign.ReportLedger, to a tenth of a second.
func (l *Postgres) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	var at int64
	err := l.read(ctx, l.reports, row(&at, `SELECT event_at FROM run_event WHERE no = $1`, int64(no)))
	if errors.Is(err, pgx.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return timeOf(at), err
}
