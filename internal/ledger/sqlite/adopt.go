package sqlite

import (
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// asker runs a query on the writer's transaction or on a reader.
type asker func(query string, a []any, f func(scan func(...any) error) error) error

// adoptOnce is how many orphans one transaction judges: what waits for the writer waits some 50 ms for them.
const adoptOnce = 250

// fewOrphans is how many are looked up among the doubts in some 50 ms.
const fewOrphans = 20_000

// adoptable finds the orphans that a doubt may be about, as judged on one snapshot,
// and what of the same recipients was in doubt and in flight then. An intent that comes later cannot
// have sent a message that is already here. Those that it would adopt come first: many that stay ambiguous must not keep them waiting.
func adoptable(ask asker) (fitting []ledger.Orphan, then map[int64][]ledger.Suspect, err error) {
	var near []ledger.Orphan
	var few bool
	if err := ask(`SELECT count(*) < ?1 FROM (SELECT 1 FROM orphan INDEXED BY orphan_key WHERE key <> 0 LIMIT ?1)`, args(fewOrphans), func(scan func(...any) error) error {
		return scan(&few)
	}); err != nil {
		return nil, nil, err
	}
	// Driven by the orphans while they are few: unknowns are kept for ever. Else by the doubts.
	pairs := `orphan p INDEXED BY orphan_key CROSS JOIN outcome d INDEXED BY outcome_doubt`
	if !few {
		pairs = `outcome d INDEXED BY outcome_doubt CROSS JOIN orphan p INDEXED BY orphan_key`
	}
	if err := ask(`SELECT o.mh, o.message_id, max(o.key), max(o.connection), min(o.at) FROM
		(SELECT DISTINCT p.mh, p.message_id FROM `+pairs+` ON p.key = d.key
			WHERE d.state IN (3, 4) AND p.key <> 0) n
		CROSS JOIN orphan o ON o.mh = n.mh AND o.message_id = n.message_id GROUP BY o.mh, o.message_id`, nil,
		func(scan func(...any) error) error {
			var o ledger.Orphan
			err := scan(&o.Hash, &o.MessageID, &o.Key, &o.Connection, &o.First)
			near = append(near, o)
			return err
		}); err != nil || len(near) == 0 {
		return nil, nil, err
	}
	doubts := map[int64][]ledger.Suspect{}
	var unsure []ledger.Orphan
	for _, o := range near {
		of, ok := doubts[o.Key]
		if !ok {
			if of, err = doubtsOf(ask, o.Key); err != nil {
				return nil, nil, err
			}
			doubts[o.Key] = of
		}
		switch v := ledger.MatchOrphan(o, of); {
		case v.RowID != 0:
			fitting = append(fitting, o)
		case len(v.Ambiguous) > 0:
			unsure = append(unsure, o)
		}
	}
	if len(fitting)+len(unsure) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(fitting, ledger.ByFirst)
	slices.SortFunc(unsure, ledger.ByFirst)
	fitting = append(fitting, unsure...)
	keys := map[int64]bool{}
	for _, o := range fitting {
		keys[o.Key] = true
	}
	if then, err = inFlight(ask, keys); err != nil {
		return nil, nil, err
	}
	for k := range keys {
		then[k] = append(then[k], doubts[k]...)
	}
	return fitting, then, nil
}

// doubtsOf reads the doubts and unknowns of a recipient, over all runs.
func doubtsOf(ask asker, key int64) (found []ledger.Suspect, err error) {
	err = ask(`SELECT d.rid, CASE WHEN d.flags & 32 THEN '' ELSE coalesce(s.connection, '') END, d.intent_at, d.result_at FROM outcome d INDEXED BY outcome_doubt
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)
		WHERE d.state IN (3, 4) AND d.key = ? ORDER BY d.rid`, args(key), func(scan func(...any) error) error {
		var s ledger.Suspect
		err := scan(&s.RowID, &s.Connection, &s.IntentAt, &s.Since)
		found = append(found, s)
		return err
	})
	return found, err
}

// inFlight reads what of these recipients was posted, or may be, without a result.
func inFlight(ask asker, keys map[int64]bool) (map[int64][]ledger.Suspect, error) {
	type part struct {
		ledger.Suspect
		first, end int64
	}
	var parts []part
	if err := ask(`SELECT (run << 32) + lo, (run << 32) + mark, connection, intents_since FROM segment WHERE done = 0 AND mark > lo`, nil,
		func(scan func(...any) error) error {
			p := part{Suspect: ledger.Suspect{Open: true}}
			err := scan(&p.first, &p.end, &p.Connection, &p.IntentAt)
			parts = append(parts, p)
			return err
		}); err != nil {
		return nil, err
	}
	found := map[int64][]ledger.Suspect{}
	add := func(p part) func(func(...any) error) error {
		return func(scan func(...any) error) error {
			s, key := p.Suspect, int64(0)
			err := scan(&s.RowID, &key)
			if keys[key] {
				found[key] = append(found[key], s)
			}
			return err
		}
	}
	for _, p := range parts {
		var settled int64
		if err := ask(`SELECT count(*) FROM outcome WHERE rid >= ? AND rid < ?`, args(p.first, p.end), func(scan func(...any) error) error {
			return scan(&settled)
		}); err != nil {
			return nil, err
		}
		if settled < p.end-p.first {
			if err := ask(`SELECT d.rid, d.key FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
				WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL`, args(p.first, p.end), add(p)); err != nil {
				return nil, err
			}
		}
		if err := ask(`SELECT o.rid, d.key FROM outcome o INDEXED BY outcome_open CROSS JOIN delivery d ON d.rid = o.rid
			WHERE o.rid >= ? AND o.rid < ? AND o.state IN (1, 2, 3) AND o.state = 2`, args(p.first, p.end), add(p)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// adopt judges an orphan again inside the transaction and acts on it.
func (t *tx) adopt(o ledger.Orphan, then []ledger.Suspect, done *campaign.Swept) error {
	doubts, err := doubtsOf(t.each, o.Key)
	if err != nil {
		return err
	}
	switch v := ledger.MatchOrphan(o, ledger.Suspects(doubts, then)); {
	case v.RowID != 0:
		n, err := t.exec(`UPDATE outcome SET state = 5, flags = flags | 1, mh = ?2, message_id = ?3, result_at = ?4,
			code = '', detail = '', key = 0, intent_at = 0 WHERE rid = ?1 AND state IN (3, 4) AND EXISTS (SELECT 1 FROM orphan WHERE mh = ?2 AND message_id = ?3)`,
			v.RowID, o.Hash, o.MessageID, o.First)
		if err != nil || n == 0 {
			return err
		}
		done.Adopted++
		_, err = t.absorbMessage(o)
		return err
	case len(v.Ambiguous) > 0:
		done.Ambiguous++
		for _, r := range v.Ambiguous {
			if _, err := t.exec(`UPDATE outcome SET flags = flags | 8 WHERE rid = ? AND flags & 8 = 0`, r); err != nil {
				return err
			}
		}
	}
	return nil
}
