package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// errOtherSweeps says that another replica is sweeping.
var errOtherSweeps = errors.New("another replica is sweeping")

// adoptAll matches the orphans that an open attempt may be about (docs/protocol.md#adoption). It
// reports false when another replica is sweeping.
func (l *Ledger) adoptAll(ctx context.Context, done *campaign.Swept) (mine bool, err error) {
	to, err := ledger.AdoptPages(l.adoptedTo.Load(), func(after int64) (int64, int, error) { return l.adoptPage(ctx, after, done) })
	if errors.Is(err, errOtherSweeps) {
		return false, nil
	}
	l.adoptedTo.Store(to)
	return true, err
}

const (
	sqlOrphanKeys  = `SELECT key FROM orphan WHERE key > $1 AND key <> 0 ORDER BY key LIMIT $2`
	sqlAttemptKeys = `SELECT key FROM attempt WHERE key > $1 ORDER BY key LIMIT $2`
)

// adoptPage adopts what it finds among the next recipients, in one transaction of about 100 ms. It
// reads the orphans, then the attempts in flight, then the open attempts and the orphans again. An
// attempt that gets its result meanwhile is in flight or open in one of them, or its message is
// known.
func (l *Ledger) adoptPage(ctx context.Context, after int64, done *campaign.Swept) (to int64, adopted int, err error) {
	var v ledger.Verdict
	var n int64
	var told absorbed
	err = l.change(ctx, l.hooks, "", func(t *tx) error {
		v, n, to, told = ledger.Verdict{}, 0, after, absorbed{}
		if _, mine, err := t.sweeps(); err != nil {
			return err
		} else if !mine {
			return errOtherSweeps
		}
		var orphans, attempts []int64
		if err := t.do(list(&orphans, scanID, sqlOrphanKeys, after, ledger.AdoptPage),
			list(&attempts, scanID, sqlAttemptKeys, after, ledger.AdoptPage)); err != nil {
			return err
		}
		var keys []int64
		keys, to = ledger.NextKeys(orphans, attempts)
		near, open, err := t.adoptable(keys, l.options.Platform())
		if err != nil {
			return err
		}
		search := ledger.NewSearch(near, open)
		if len(search.Keys) == 0 {
			return nil
		}
		inFlight, err := t.inFlight(search.Keys, l.options.Platform())
		if err != nil {
			return err
		}
		if near, open, err = t.adoptable(search.Keys, l.options.Platform()); err != nil {
			return err
		}
		v = search.Match(near, open, inFlight)
		t.adopt(v, &n, &told)
		return nil
	})
	if err == nil {
		l.holdAbsorbed(ctx, told)
		done.Adopted, done.Ambiguous = done.Adopted+int(n), done.Ambiguous+v.Ambiguous
	}
	return to, int(n), err
}

const sqlAttemptsOf = `SELECT a.* FROM unnest($1::bigint[]) k CROSS JOIN LATERAL (
		SELECT rid, attempt, key, connection, intent_at, doubt_at FROM attempt WHERE key = k OFFSET 0) a ORDER BY a.rid, a.attempt`

// A message whose events name two recipients belongs to the greater key. One that a delivery has is
// no orphan: its event came in at the same time as its receipt, and the sweep applies it.
const sqlOrphansOf = `WITH n AS MATERIALIZED (SELECT DISTINCT k, p.mh, p.message_id FROM unnest($1::bigint[]) k
		CROSS JOIN LATERAL (SELECT mh, message_id FROM orphan WHERE key = k AND key <> 0 OFFSET 0) p)
	SELECT n.mh, n.message_id, o.* FROM n CROSS JOIN LATERAL (SELECT max(key) AS key, max(connection),
		coalesce(min(at) FILTER (WHERE NOT untimed), min(at)), bool_and(untimed), min(received_at),
		max(marked), max(attempt) FROM orphan
		WHERE mh = n.mh AND message_id = n.message_id) o
	WHERE o.key = n.k AND (SELECT true FROM outcome x WHERE x.mh = n.mh AND x.message_id = n.message_id LIMIT 1) IS NULL`

// adoptable reads the open attempts of recipients, and the orphans of those that have one.
func (t *tx) adoptable(keys []int64, platform []string) (orphans []ledger.Orphan, open ledger.Attempts, err error) {
	open = ledger.Attempts{}
	if err := t.do(each(func(scan scanFunc) error {
		a, err := ledger.ScanAttempt(scan)
		open.Add(a, platform)
		return err
	}, sqlAttemptsOf, ledger.SpelledOnce(keys))); err != nil || len(open) == 0 {
		return nil, nil, err
	}
	return orphans, open, t.do(list(&orphans, ledger.ScanOrphan, sqlOrphansOf, ledger.SpelledOnce(slices.Collect(maps.Keys(open)))))
}

// IS TRUE makes the keys a hash. With = ANY each of 4,096 deliveries is compared with every key:
// while 50 lanes send, 1,000 keys took 1.8 s, and 20,000 always ran into the time limit.
const (
	sqlPostedInFlight = `WITH part AS MATERIALIZED (
			SELECT (run << 32) + lo AS first, (run << 32) + mark AS marked, connection, intents_since
			FROM segment WHERE NOT done AND mark > lo),
		short AS MATERIALIZED (SELECT p.* FROM part p
			WHERE (SELECT count(*) FROM outcome WHERE rid >= p.first AND rid < p.marked) < p.marked - p.first)
		SELECT d.rid, d.key, p.connection, p.intents_since FROM short p CROSS JOIN LATERAL (
			SELECT d.rid, d.key FROM delivery d WHERE d.rid >= p.first AND d.rid < p.marked
			AND (d.key IN (SELECT unnest($1::bigint[]))) IS TRUE AND ` + sqlNoOutcome + ` OFFSET 0) d`
	sqlRetriesInFlight = `SELECT o.rid, d.key, coalesce(o.connection, s.connection), coalesce(o.intent_at, s.intents_since) FROM segment s
		CROSS JOIN LATERAL (SELECT rid, intent_at, connection FROM outcome
			WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state = 2 /* retrying */ OFFSET 0) o
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid OFFSET 0) d
		WHERE NOT s.done AND s.mark > s.lo AND (d.key IN (SELECT unnest($1::bigint[]))) IS TRUE`
)

// inFlight reads, for these recipients, the deliveries that may have been posted and have no
// result. It looks only into the segments that lack outcomes.
func (t *tx) inFlight(keys []int64, platform []string) (ledger.Attempts, error) {
	found := ledger.Attempts{}
	keys = ledger.SpelledOnce(keys)
	add := func(scan scanFunc) error {
		a := ledger.Attempt{InFlight: true}
		err := scan(&a.RowID, &a.Key, &a.Connection, &a.IntentAt)
		found.Add(a, platform)
		return err
	}
	return found, t.do(each(add, sqlPostedInFlight, keys), each(add, sqlRetriesInFlight, keys))
}

const (
	// The attempts $1, $2 are proven by the messages $3, $4, whose earliest event is $5, unless a
	// result ended them meanwhile. A delivery that has another message already keeps it.
	sqlAdopt = `WITH a AS (DELETE FROM attempt t USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[])
			w (rid, attempt, mh, id, at) WHERE t.rid = ANY($1) AND t.rid = w.rid AND t.attempt = w.attempt
			RETURNING t.rid, w.mh, w.id, w.at, t.connection)
		INSERT INTO outcome AS o (rid, state, mh, message_id, result_at, connection)
		SELECT rid, 5 /* accepted */, mh, id, at, nullif(connection, '') FROM a ORDER BY rid
		ON CONFLICT (rid) DO UPDATE SET state = 5 /* accepted */, flags = o.flags | 1 /* adopted */, mh = excluded.mh,
			message_id = excluded.message_id, result_at = excluded.result_at, code = NULL, detail = NULL, intent_at = NULL,
			next_due = NULL, connection = CASE WHEN o.connection IS NOT NULL THEN coalesce(excluded.connection, o.connection) END
		WHERE o.state <> 5 /* accepted */`
	// An attempt of the lost time of a backup may be of any connection; the event tells which it was.
	sqlTellConnection = `UPDATE outcome o SET connection = w.connection
		FROM unnest($1::bigint[], $2::bigint[], $3::text[]) w (rid, mh, connection)
		WHERE o.rid = ANY($1) AND o.rid = w.rid AND o.mh = w.mh AND o.connection IS NULL`
	sqlFlagAmbiguous = `UPDATE outcome SET flags = flags | 8 /* ambiguous */
		WHERE rid = ANY($1) AND flags & 8 /* ambiguous */ = 0 AND state <> 5 /* accepted */`
)

// adopt adds what follows from a verdict to the commit. n receives how many deliveries are proven,
// told what their orphans tell.
func (t *tx) adopt(v ledger.Verdict, n *int64, told *absorbed) {
	var rids, attempts, mhs, firsts, toldOf, toldBy []int64
	var ids, connections []string
	for _, a := range v.Adopt {
		if connection, told := a.Connection(); told {
			toldOf, toldBy, connections = append(toldOf, a.Attempt.RowID), append(toldBy, a.Orphan.Hash), append(connections, connection)
		}
		rids, attempts = append(rids, a.Attempt.RowID), append(attempts, int64(a.Attempt.Number))
		mhs, ids, firsts = append(mhs, a.Orphan.Hash), append(ids, a.Orphan.MessageID), append(firsts, a.Orphan.AcceptedAt())
	}
	t.recount(append(slices.Clone(v.Unsure), rids...)...)
	if len(rids) > 0 {
		t.last(stmt(n, sqlAdopt, rids, attempts, mhs, ids, firsts))
	}
	if len(toldOf) > 0 {
		t.last(stmt(nil, sqlTellConnection, toldOf, toldBy, connections))
	}
	if len(rids) > 0 {
		t.last(absorb(told, slices.Sorted(slices.Values(mhs)), t.options.Platform()))
	}
	if len(v.Unsure) > 0 {
		t.last(stmt(nil, sqlFlagAmbiguous, v.Unsure))
	}
}
