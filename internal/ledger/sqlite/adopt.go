package sqlite

import (
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// queryFunc runs a query, of the writer's transaction or of a reader, and calls f for every row.
type queryFunc func(query string, a []any, f func(scan scanFunc) error) error

// adoptBatch is for how many recipients one transaction adopts: about 50 ms, for which intents
// wait.
const adoptBatch = 250

// adoptAll matches the orphans that an open attempt may be about (docs/protocol.md#adoption).
func (l *Ledger) adoptAll(ctx context.Context, done *campaign.Swept) error {
	to, err := ledger.AdoptPages(l.adoptedTo.Load(), func(after int64) (int64, int, error) { return l.adoptPage(ctx, after, done) })
	l.adoptedTo.Store(to)
	return err
}

// adoptPage adopts what it finds among the next recipients. It searches on a reader and gives the
// writer only what it found, in several operations, because intents wait for the same writer.
func (l *Ledger) adoptPage(ctx context.Context, after int64, done *campaign.Swept) (to int64, adopted int, err error) {
	to = after
	var search ledger.Search
	var inFlight ledger.Attempts
	if err := l.snapshot(ctx, func(r reader) (err error) {
		each := func(query string, a []any, f func(scanFunc) error) error { return r.each(ctx, query, a, f) }
		search, to, err = searchPage(each, after, l.options.Platform())
		if err == nil && len(search.Keys) > 0 {
			inFlight, err = inFlightOf(each, search.Keys, l.options.Platform())
		}
		return err
	}); err != nil {
		return to, 0, err
	}
	before := done.Adopted
	for keys := range slices.Chunk(search.Keys, adoptBatch) {
		if err := l.sweepStep(ctx, done, len(keys), func(t *tx, counts *campaign.Swept) error {
			orphans, open, err := adoptable(t.each, keys, l.options.Platform())
			if err != nil {
				return err
			}
			return t.adopt(search.Match(orphans, open, inFlight), counts)
		}); err != nil {
			return to, done.Adopted - before, err
		}
	}
	return to, done.Adopted - before, nil
}

const (
	sqlOrphanKeys  = `SELECT key FROM orphan INDEXED BY orphan_key WHERE key > ? AND key <> 0 ORDER BY key LIMIT +?`
	sqlAttemptKeys = `SELECT key FROM attempt INDEXED BY attempt_key WHERE key > ? ORDER BY key LIMIT +?`
)

// searchPage finds the orphans that open attempts of the next recipients may be about.
func searchPage(each queryFunc, after int64, platform []string) (s ledger.Search, to int64, err error) {
	next := func(query string) (keys []int64, err error) {
		err = each(query, args(after, ledger.AdoptPage), list(&keys, scanID))
		return keys, err
	}
	ofOrphans, err := next(sqlOrphanKeys)
	if err != nil {
		return s, after, err
	}
	ofAttempts, err := next(sqlAttemptKeys)
	if err != nil {
		return s, after, err
	}
	keys, to := ledger.NextKeys(ofOrphans, ofAttempts)
	orphans, open, err := adoptable(each, keys, platform)
	return ledger.NewSearch(orphans, open), to, err
}

const (
	sqlAttemptsOf = `SELECT rid, attempt, key, connection, intent_at, doubt_at FROM attempt WHERE key = ? ORDER BY rid, attempt`
	// A message whose events name two recipients belongs to the greater key. One that a delivery has
	// is no orphan: another process wrote its event, and the sweep applies it.
	sqlOrphansOf = `SELECT o.mh, o.message_id, max(o.key), max(o.connection), coalesce(min(o.at) FILTER (WHERE NOT o.untimed), min(o.at)),
			min(o.untimed), min(o.received_at), max(o.marked), max(o.attempt)
		FROM (SELECT DISTINCT mh, message_id FROM orphan INDEXED BY orphan_key WHERE key = ?1 AND key <> 0) n
		CROSS JOIN orphan o ON o.mh = n.mh AND o.message_id = n.message_id
		WHERE NOT EXISTS (SELECT 1 FROM outcome x WHERE x.mh = n.mh AND x.mh <> 0 AND x.message_id = n.message_id)
		GROUP BY o.mh, o.message_id HAVING max(o.key) = ?1`
)

// adoptable reads the open attempts of recipients, and the orphans of those that have one.
func adoptable(each queryFunc, keys []int64, platform []string) (orphans []ledger.Orphan, open ledger.Attempts, err error) {
	open, keys = ledger.Attempts{}, ledger.SpelledOnce(keys)
	for _, key := range keys {
		if err := each(sqlAttemptsOf, args(key), func(scan scanFunc) error {
			a, err := ledger.ScanAttempt(scan)
			open.Add(a, platform)
			return err
		}); err != nil {
			return nil, nil, err
		}
	}
	for _, key := range keys {
		if len(open[recipients.Fold(key)]) == 0 {
			continue
		}
		if err := each(sqlOrphansOf, args(key), list(&orphans, ledger.ScanOrphan)); err != nil {
			return nil, nil, err
		}
	}
	return orphans, open, nil
}

const (
	sqlMarkedSegments = `SELECT (run << 32) + lo, (run << 32) + mark, connection, intents_since
		FROM segment WHERE done = 0 AND mark > lo`
	sqlWithoutOutcome = `SELECT d.rid, d.key FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL`
	sqlRetriesInFlight = `SELECT o.rid, d.key, o.intent_at, CASE WHEN o.connection <> '' THEN o.connection ELSE ?3 END
		FROM outcome o INDEXED BY outcome_open CROSS JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ?1 AND o.rid < ?2 AND o.state IN (1, 2, 3) /* open */ AND o.state = 2 /* retrying */`
)

// inFlightOf reads, for these recipients, the deliveries that may have been posted and have no
// result.
func inFlightOf(each queryFunc, keys []int64, platform []string) (ledger.Attempts, error) {
	keys = ledger.SpelledOnce(keys)
	type markedSegment struct {
		ledger.Attempt
		first, end int64 // rids: of its first delivery, of the one at its mark
	}
	var marked []markedSegment
	if err := each(sqlMarkedSegments, nil, func(scan scanFunc) error {
		s := markedSegment{Attempt: ledger.Attempt{InFlight: true}}
		err := scan(&s.first, &s.end, &s.Connection, &s.IntentAt)
		marked = append(marked, s)
		return err
	}); err != nil {
		return nil, err
	}
	found := ledger.Attempts{}
	for _, s := range marked {
		a := s.Attempt
		add := func(err error) error {
			if _, asked := slices.BinarySearch(keys, a.Key); asked {
				found.Add(a, platform)
			}
			return err
		}
		posted := func(scan scanFunc) error { return add(scan(&a.RowID, &a.Key)) }
		retried := func(scan scanFunc) error { return add(scan(&a.RowID, &a.Key, &a.IntentAt, &a.Connection)) }
		var outcomes int64
		if err := each(sqlCountOutcomes, args(s.first, s.end), func(scan scanFunc) error { return scan(&outcomes) }); err != nil {
			return nil, err
		}
		if outcomes < s.end-s.first {
			if err := each(sqlWithoutOutcome, args(s.first, s.end), posted); err != nil {
				return nil, err
			}
		}
		if err := each(sqlRetriesInFlight, args(s.first, s.end, s.Connection), retried); err != nil {
			return nil, err
		}
	}
	return found, nil
}

const (
	// A delivery that has another message already keeps it.
	sqlAdopt = `UPDATE outcome SET state = 5 /* accepted */, flags = flags | 1 /* adopted */, mh = ?2, message_id = ?3,
			result_at = ?4, code = '', detail = '', intent_at = 0, next_due = 0,
			connection = CASE WHEN (connection <> '' OR ?6 /* told by the event */) AND ?5 <> '' THEN ?5 ELSE connection END
		WHERE rid = ?1 AND state <> 5 /* accepted */`
	sqlFlagAmbiguous = `UPDATE outcome SET flags = flags | 8 /* ambiguous */
		WHERE rid = ? AND flags & 8 /* ambiguous */ = 0 AND state <> 5 /* accepted */`
)

// adopt writes what follows from a verdict.
func (t *tx) adopt(v ledger.Verdict, done *campaign.Swept) error {
	for _, a := range v.Adopt {
		if _, err := t.exec(sqlProven, a.Attempt.RowID, a.Attempt.Number); err != nil {
			return err
		}
		t.recount(a.Attempt.RowID)
		connection, told := a.Connection()
		n, err := t.exec(sqlAdopt, a.Attempt.RowID, a.Orphan.Hash, a.Orphan.MessageID, a.Orphan.AcceptedAt(), connection, told)
		if err != nil {
			return err
		}
		done.Adopted += int(n)
		if _, err := t.absorbMessage(a.Orphan); err != nil {
			return err
		}
	}
	done.Ambiguous += v.Ambiguous
	for _, rid := range v.Unsure {
		t.recount(rid)
		if _, err := t.exec(sqlFlagAmbiguous, rid); err != nil {
			return err
		}
	}
	return nil
}
