package postgres

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	adoptStep = 1_000 // recipients that one transaction of adoptions looks at: about 100 ms
	// adoptSearch is how long one sweep searches without finding anything to adopt. A search of a
	// million orphans among a million unknown outcomes takes some minutes.
	adoptSearch = 200 * time.Millisecond
)

// adoptAll matches the orphans that a doubt may be about, one page of recipients at a time. It goes
// on where the last sweep stopped, so every recipient is reached, however many orphans there are
// and however many stay ambiguous. It reports false when another replica is sweeping.
func (l *Ledger) adoptAll(ctx context.Context, done *campaign.Swept) (mine bool, err error) {
	search := time.Duration(0) // how long nothing was found
	for until := time.Now().Add(ledger.AdoptTime); ; {
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

// adoptionPage is a page of orphans that may be adopted, as one snapshot shows it.
type adoptionPage struct {
	fitting []ledger.Orphan
	keys    []int64                    // of the recipients of fitting
	then    map[int64][]ledger.Suspect // by recipient: what was in doubt or in flight
	to      int64                      // the last key looked at; 0: no key comes after it
}

// adoptPage adopts what it finds among the next adoptStep recipients. One snapshot shows the
// orphans and the deliveries in flight. A delivery that becomes a doubt in between, or
// ceases to be one, is a candidate in both readings. Its orphan then has two candidates and waits
// for the next sweep. An intent that comes later cannot have sent a message that is already here. The snapshot
// ends before the transaction begins, so neither stands idle.
func (l *Ledger) adoptPage(ctx context.Context, done *campaign.Swept) (mine bool, err error) {
	var p adoptionPage
	if err := l.snapshot(ctx, l.hooks, func(s *tx) (err error) {
		p, err = adoptable(s, l.adoptedTo.Load())
		return err
	}); err != nil {
		return true, err
	}
	if mine = true; len(p.fitting) > 0 {
		var adopted int64
		var ambiguous int
		var told absorbed
		err = l.change(ctx, l.hooks, "", func(t *tx) (err error) {
			adopted, ambiguous, told = 0, 0, absorbed{}
			_, mine, err = t.sweeps()
			if err == nil && mine {
				ambiguous, err = t.adopt(p, &adopted, &told)
			}
			return err
		})
		if err == nil {
			l.holdAbsorbed(ctx, told)
			done.Adopted, done.Ambiguous = done.Adopted+int(adopted), done.Ambiguous+ambiguous
		}
	}
	if mine {
		l.adoptedTo.Store(p.to) // also after a failure: one page must not hold up the others
	}
	return mine, err
}

// sqlCommonKeys finds, in $2 steps at most, the recipients beyond the key $1 that have both an
// orphan and a doubt. It leaps from the next orphan's key to the doubt's key at or after it, and
// back. A sweep therefore costs what the fewer of the two are: a few orphans among a million
// unknown outcomes cost as little as a few doubts among a million orphans.
const sqlCommonKeys = `WITH RECURSIVE walk AS (SELECT $1::bigint AS key, false AS hit UNION ALL
		SELECT CASE WHEN d.key = o.key THEN o.key ELSE d.key - 1 END, d.key = o.key FROM walk
		CROSS JOIN LATERAL (SELECT key FROM orphan WHERE key > walk.key AND key <> 0 ORDER BY key LIMIT 1) o
		CROSS JOIN LATERAL (SELECT key FROM outcome WHERE key >= o.key AND state IN (3, 4) /* adoptable */ ORDER BY key LIMIT 1) d)
	SELECT key, hit FROM walk LIMIT $2`

// adoptable finds the orphans of the recipients after a key that a doubt may be about, and the
// deliveries of the same recipients that were in flight.
func adoptable(t *tx, after int64) (p adoptionPage, err error) {
	steps := 0
	var keys []int64
	if err := t.do(each(func(scan scanFunc) error {
		var hit bool
		err := scan(&p.to, &hit)
		if steps++; hit {
			keys = append(keys, p.to)
		}
		return err
	}, sqlCommonKeys, after, adoptStep)); err != nil {
		return p, err
	}
	if steps < adoptStep {
		p.to = 0
	}
	if len(keys) == 0 {
		return p, nil
	}
	var near []ledger.Orphan
	doubts := map[int64][]ledger.Suspect{}
	if err := t.do(orphansOf(keys, &near), doubtsOf(keys, doubts)); err != nil {
		return p, err
	}
	for _, o := range near {
		if v := ledger.MatchOrphan(o, doubts[o.Key]); v.RowID != 0 || len(v.Ambiguous) > 0 {
			p.fitting, p.keys = append(p.fitting, o), append(p.keys, o.Key)
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

const sqlOrphansOf = `WITH n AS MATERIALIZED (SELECT DISTINCT k, p.mh, p.message_id FROM unnest($1::bigint[]) k
		CROSS JOIN LATERAL (SELECT mh, message_id FROM orphan WHERE key = k AND key <> 0 OFFSET 0) p)
	SELECT n.mh, n.message_id, o.* FROM n CROSS JOIN LATERAL (
		SELECT max(key) AS key, max(connection), min(at) FROM orphan WHERE mh = n.mh AND message_id = n.message_id) o WHERE o.key = n.k`

// orphansOf reads the orphans of recipients. A message whose events name two recipients belongs to
// the greater key.
func orphansOf(keys []int64, found *[]ledger.Orphan) *query {
	return list(found, func(scan scanFunc) (o ledger.Orphan, err error) {
		err = scan(&o.Hash, &o.MessageID, &o.Key, &o.Connection, &o.First)
		return o, err
	}, sqlOrphansOf, keys)
}

const sqlDoubtsOf = `SELECT d.rid, d.key,
		CASE WHEN d.flags & 32 /* any connection */ <> 0 THEN '' ELSE coalesce(s.connection, '') END,
		coalesce(d.intent_at, 0), coalesce(d.result_at, 0)
	FROM unnest($1::bigint[]) k
	CROSS JOIN LATERAL (SELECT rid, key, flags, intent_at, result_at FROM outcome
		WHERE key = k AND state IN (3, 4) /* adoptable */ OFFSET 0) d
	LEFT JOIN LATERAL (SELECT connection FROM segment x
		WHERE x.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) OFFSET 0) s ON true`

// doubtsOf reads the doubts and unknown outcomes of recipients, over all runs.
func doubtsOf(keys []int64, found map[int64][]ledger.Suspect) *query {
	return each(func(scan scanFunc) error {
		var s ledger.Suspect
		var key int64
		err := scan(&s.RowID, &key, &s.Connection, &s.IntentAt, &s.Since)
		found[key] = append(found[key], s)
		return err
	}, sqlDoubtsOf, keys)
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
	sqlRetriesInFlight = `SELECT o.rid, d.key, s.connection, s.intents_since FROM segment s
		CROSS JOIN LATERAL (SELECT rid FROM outcome
			WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state = 2 /* retrying */ OFFSET 0) o
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid OFFSET 0) d
		WHERE NOT s.done AND s.mark > s.lo AND (d.key IN (SELECT unnest($1::bigint[]))) IS TRUE`
)

// inFlight reads, for these recipients, the deliveries that may have been posted and have no
// result. It looks only into the segments that lack outcomes.
func (t *tx) inFlight(keys []int64) (map[int64][]ledger.Suspect, error) {
	found := map[int64][]ledger.Suspect{}
	add := func(scan scanFunc) error {
		s := ledger.Suspect{Open: true}
		var key int64
		err := scan(&s.RowID, &key, &s.Connection, &s.IntentAt)
		found[key] = append(found[key], s)
		return err
	}
	return found, t.do(each(add, sqlPostedInFlight, keys), each(add, sqlRetriesInFlight, keys))
}

const (
	// The deliveries $1 get the messages $2, $3, whose earliest event is $4, where they are still in
	// doubt and the message is still an orphan. It is an upsert for the reason given at sqlForward.
	sqlAdopt = `INSERT INTO outcome AS o (rid, state, mh, message_id, result_at)
		SELECT x.rid, 5 /* accepted */, a.mh, a.id, a.at FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) a (rid, mh, id, at)
		CROSS JOIN LATERAL (SELECT rid FROM outcome WHERE rid = a.rid AND state IN (3, 4) /* adoptable */ OFFSET 0) x
		CROSS JOIN LATERAL (SELECT 1 FROM orphan WHERE mh = a.mh AND message_id = a.id LIMIT 1) p ORDER BY x.rid
		ON CONFLICT (rid) DO UPDATE SET state = 5 /* accepted */, flags = o.flags | 1 /* adopted */, mh = excluded.mh,
			message_id = excluded.message_id, result_at = excluded.result_at, code = NULL, detail = NULL, key = NULL, intent_at = NULL
		WHERE o.state IN (3, 4) /* adoptable */`
	sqlFlagAmbiguous = `UPDATE outcome SET flags = flags | 8 /* ambiguous */
		WHERE rid = ANY($1) AND flags & 8 /* ambiguous */ = 0 AND state IN (3, 4) /* adoptable */`
)

// adopt matches each orphan of the page again inside the transaction and adds what follows from it
// to the commit (docs/protocol.md#adoption). At most one orphan per recipient is adopted; the next
// sweep matches the others. It returns how many are ambiguous; n receives how many deliveries are
// proven, told what their orphans told.
func (t *tx) adopt(p adoptionPage, n *int64, told *absorbed) (ambiguous int, err error) {
	var near []ledger.Orphan
	doubts := map[int64][]ledger.Suspect{}
	if err := t.do(orphansOf(p.keys, &near), doubtsOf(p.keys, doubts)); err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, o := range p.fitting {
		seen[o.MessageID] = true
	}
	slices.SortFunc(near, ledger.ByFirst)
	var rids, mhs, firsts, unsure []int64
	var ids []string
	adopted := map[int64]bool{}
	for _, o := range near {
		if !seen[o.MessageID] || adopted[o.Key] {
			continue // it came after the snapshot: what was in flight then is not known
		}
		switch v := ledger.MatchOrphan(o, ledger.Suspects(doubts[o.Key], p.then[o.Key])); {
		case v.RowID != 0:
			adopted[o.Key] = true
			rids, mhs, ids, firsts = append(rids, v.RowID), append(mhs, o.Hash), append(ids, o.MessageID), append(firsts, o.First)
		case len(v.Ambiguous) > 0:
			ambiguous++
			unsure = append(unsure, v.Ambiguous...)
		}
	}
	if len(rids) > 0 {
		t.last(stmt(n, sqlAdopt, rids, mhs, ids, firsts), absorb(told, slices.Sorted(slices.Values(mhs))))
	}
	if len(unsure) > 0 {
		slices.Sort(unsure)
		t.last(stmt(nil, sqlFlagAmbiguous, slices.Compact(unsure)))
	}
	return ambiguous, nil
}
