package sqlite

import (
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// queryFunc runs a query, of the writer's transaction or of a reader, and calls f for every row.
type queryFunc func(query string, a []any, f func(scan scanFunc) error) error

// adoptBatch is how many orphans one transaction judges: about 50 ms, for which intents wait.
const adoptBatch = 250

// fewOrphans is how many orphans can be looked up among the doubts in about 50 ms.
const fewOrphans = 20_000

const sqlOrphansAreFew = `SELECT count(*) < ?1 FROM (SELECT 1 FROM orphan INDEXED BY orphan_key WHERE key <> 0 LIMIT ?1)`

// Orphans whose recipients have a doubt or an unknown outcome. CROSS JOIN fixes the order of the
// loops. While the orphans are few they are the outer loop, because the table outcome keeps unknown
// outcomes for ever; otherwise the doubts are.
const (
	sqlOrphansNearDoubts = sqlSelectNear + `orphan p INDEXED BY orphan_key CROSS JOIN outcome d INDEXED BY outcome_doubt` + sqlWhereNear
	sqlDoubtsNearOrphans = sqlSelectNear + `outcome d INDEXED BY outcome_doubt CROSS JOIN orphan p INDEXED BY orphan_key` + sqlWhereNear

	sqlSelectNear = `SELECT o.mh, o.message_id, max(o.key), max(o.connection), min(o.at) FROM
		(SELECT DISTINCT p.mh, p.message_id FROM `
	sqlWhereNear = ` ON p.key = d.key WHERE d.state IN (3, 4) /* adoptable */ AND p.key <> 0) n
		CROSS JOIN orphan o ON o.mh = n.mh AND o.message_id = n.message_id GROUP BY o.mh, o.message_id`
)

// adoptable finds, on one snapshot, the orphans that a doubt may be about, and for each of their
// recipients what was in doubt or in flight at that time. An intent that comes later cannot have
// sent a message that is already here. Orphans that fit one doubt only come first, so that they
// do not wait behind many that stay ambiguous.
func adoptable(each queryFunc) (fitting []ledger.Orphan, then map[int64][]ledger.Suspect, err error) {
	near, err := orphansNearDoubts(each)
	if err != nil {
		return nil, nil, err
	}
	doubts := map[int64][]ledger.Suspect{}
	var ambiguous []ledger.Orphan
	for _, o := range near {
		of, ok := doubts[o.Key]
		if !ok {
			if of, err = doubtsOf(each, o.Key); err != nil {
				return nil, nil, err
			}
			doubts[o.Key] = of
		}
		switch m := ledger.MatchOrphan(o, of); {
		case m.RowID != 0:
			fitting = append(fitting, o)
		case len(m.Ambiguous) > 0:
			ambiguous = append(ambiguous, o)
		}
	}
	if len(fitting)+len(ambiguous) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(fitting, ledger.ByFirst)
	slices.SortFunc(ambiguous, ledger.ByFirst)
	fitting = append(fitting, ambiguous...)
	keys := map[int64]bool{}
	for _, o := range fitting {
		keys[o.Key] = true
	}
	if then, err = inFlight(each, keys); err != nil {
		return nil, nil, err
	}
	for k := range keys {
		then[k] = append(then[k], doubts[k]...)
	}
	return fitting, then, nil
}

// orphansNearDoubts reads the orphans whose recipients have a doubt or an unknown outcome.
func orphansNearDoubts(each queryFunc) (near []ledger.Orphan, err error) {
	var few bool
	if err := each(sqlOrphansAreFew, args(fewOrphans), func(scan scanFunc) error { return scan(&few) }); err != nil {
		return nil, err
	}
	query := sqlDoubtsNearOrphans
	if few {
		query = sqlOrphansNearDoubts
	}
	err = each(query, nil, func(scan scanFunc) error {
		var o ledger.Orphan
		err := scan(&o.Hash, &o.MessageID, &o.Key, &o.Connection, &o.First)
		near = append(near, o)
		return err
	})
	return near, err
}

const sqlDoubtsOf = `SELECT d.rid, CASE WHEN d.flags & 32 /* any connection */ THEN '' ELSE coalesce(s.connection, '') END,
		d.intent_at, d.result_at
	FROM outcome d INDEXED BY outcome_doubt
	LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)
	WHERE d.state IN (3, 4) /* adoptable */ AND d.key = ? ORDER BY d.rid`

// doubtsOf reads the doubts and unknown outcomes of a recipient, over all runs.
func doubtsOf(each queryFunc, key int64) (found []ledger.Suspect, err error) {
	err = each(sqlDoubtsOf, args(key), func(scan scanFunc) error {
		var s ledger.Suspect
		err := scan(&s.RowID, &s.Connection, &s.IntentAt, &s.Since)
		found = append(found, s)
		return err
	})
	return found, err
}

const (
	sqlBegunSegments = `SELECT (run << 32) + lo, (run << 32) + mark, connection, intents_since
		FROM segment WHERE done = 0 AND mark > lo`
	sqlCountOutcomes  = `SELECT count(*) FROM outcome WHERE rid >= ? AND rid < ?`
	sqlWithoutOutcome = `SELECT d.rid, d.key FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL`
	sqlRetriesInFlight = `SELECT o.rid, d.key FROM outcome o INDEXED BY outcome_open CROSS JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ? AND o.rid < ? AND o.state IN (1, 2, 3) /* open */ AND o.state = 2 /* retrying */`
)

// inFlight reads, for these recipients, the deliveries that may have been posted and have no
// result.
func inFlight(each queryFunc, keys map[int64]bool) (map[int64][]ledger.Suspect, error) {
	type begunSegment struct {
		ledger.Suspect
		first, end int64 // rids: of its first delivery, of the one at its mark
	}
	var begun []begunSegment
	if err := each(sqlBegunSegments, nil, func(scan scanFunc) error {
		s := begunSegment{Suspect: ledger.Suspect{Open: true}}
		err := scan(&s.first, &s.end, &s.Connection, &s.IntentAt)
		begun = append(begun, s)
		return err
	}); err != nil {
		return nil, err
	}
	found := map[int64][]ledger.Suspect{}
	for _, s := range begun {
		add := func(scan scanFunc) error {
			one, key := s.Suspect, int64(0)
			err := scan(&one.RowID, &key)
			if keys[key] {
				found[key] = append(found[key], one)
			}
			return err
		}
		var settled int64
		if err := each(sqlCountOutcomes, args(s.first, s.end), func(scan scanFunc) error { return scan(&settled) }); err != nil {
			return nil, err
		}
		if settled < s.end-s.first {
			if err := each(sqlWithoutOutcome, args(s.first, s.end), add); err != nil {
				return nil, err
			}
		}
		if err := each(sqlRetriesInFlight, args(s.first, s.end), add); err != nil {
			return nil, err
		}
	}
	return found, nil
}

const (
	sqlAdopt = `UPDATE outcome SET state = 5 /* accepted */, flags = flags | 1 /* adopted */, mh = ?2, message_id = ?3,
			result_at = ?4, code = '', detail = '', key = 0, intent_at = 0
		WHERE rid = ?1 AND state IN (3, 4) /* adoptable */ AND EXISTS (SELECT 1 FROM orphan WHERE mh = ?2 AND message_id = ?3)`
	sqlFlagAmbiguous = `UPDATE outcome SET flags = flags | 8 /* ambiguous */ WHERE rid = ? AND flags & 8 /* ambiguous */ = 0`
)

// adopt matches an orphan again inside the transaction and writes what follows from it
// (docs/protocol.md#adoption). then is what adoptable found for the orphan's recipient.
func (t *tx) adopt(o ledger.Orphan, then []ledger.Suspect, done *campaign.Swept) error {
	doubts, err := doubtsOf(t.each, o.Key)
	if err != nil {
		return err
	}
	switch m := ledger.MatchOrphan(o, ledger.Suspects(doubts, then)); {
	case m.RowID != 0:
		n, err := t.exec(sqlAdopt, m.RowID, o.Hash, o.MessageID, o.First)
		if err != nil || n == 0 {
			return err
		}
		done.Adopted++
		_, err = t.absorbMessage(o)
		return err
	case len(m.Ambiguous) > 0:
		done.Ambiguous++
		for _, rid := range m.Ambiguous {
			if _, err := t.exec(sqlFlagAmbiguous, rid); err != nil {
				return err
			}
		}
	}
	return nil
}
