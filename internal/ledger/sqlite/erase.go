package sqlite

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlAnyErased    = `SELECT EXISTS (SELECT 1 FROM suppression WHERE key < 0)`
	sqlIsSuppressed = `SELECT EXISTS (SELECT 1 FROM suppression WHERE key = ?)`
)

// erasedOf returns which of the keys were erased. row reads one.
func erasedOf(row func(sql string, a []any, into ...any) error, hash ledger.HashKey, keys []int64) (ledger.Erased, error) {
	var some bool
	if len(keys) == 0 {
		return nil, nil
	}
	if err := row(sqlAnyErased, nil, &some); err != nil || !some {
		return nil, err
	}
	var found []int64
	pseudonyms, of := hash.Pseudonyms(recipients.Spelled(keys))
	for _, p := range pseudonyms {
		for _, key := range []int64{p, of[p]} {
			var is bool
			if err := row(sqlIsSuppressed, args(key), &is); err != nil {
				return nil, err
			}
			if is {
				found = append(found, key)
			}
		}
	}
	return ledger.NewErased(found, of), nil
}

const (
	// The rows with the number among the next ErasePage, then the last of these, as a row id below 0.
	sqlErasePage = `WITH p AS MATERIALIZED (SELECT rid, key FROM delivery WHERE rid > ?1 ORDER BY rid LIMIT ?3)
		SELECT rid FROM p WHERE key = ?2 UNION ALL SELECT -max(rid) FROM p HAVING count(*) > 0`
	sqlUnderWay = `SELECT EXISTS (SELECT 1 FROM delivery d
		JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096) LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid = ? AND (o.state = 2 /* retrying */ OR o.state = 3 /* in doubt */
			OR o.rid IS NULL AND (d.rid & 0xffffffff) < s.mark AND s.closed = 0))`
	sqlEraseRow     = `UPDATE delivery SET key = ?2, dest = 'erased', cells = '[]' WHERE rid = ?1`
	sqlEraseOutcome = `UPDATE outcome SET message_id = CASE WHEN message_id <> '' THEN 'erased' ELSE '' END, key = 0,
		detail = '', warning = '', request_id = '', trace_id = '' WHERE rid = ?`
	sqlEraseAttempts = `UPDATE attempt SET key = ?2 WHERE rid = ?1`
)

// Erase implements campaign.ErasureLedger. From the first step on nothing is sent to the number. At
// the end no free space of the file, and nothing of its log, has what was erased.
func (l *Ledger) Erase(ctx context.Context, key int64) (done campaign.Erased, err error) {
	if key <= 0 {
		return done, fmt.Errorf("erase: %d is no key of a number", key)
	}
	keys := recipients.Spelled([]int64{key})
	if err := l.submit(ctx, &op{urgency: results, rows: 2, run: func(t *tx) error {
		for _, s := range l.key.Erasures(keys) {
			if _, err := t.suppress(s); err != nil {
				return err
			}
		}
		return nil
	}}); err != nil {
		return done, err
	}
	if done, err = ledger.EraseSpellings(keys, func(key int64) (campaign.Erased, error) { return l.erase(ctx, key) }); err != nil {
		return done, err
	}
	return done, l.scrub(ctx)
}

// erase erases what is stored under the key.
func (l *Ledger) erase(ctx context.Context, key int64) (done campaign.Erased, err error) {
	pseudonym := l.key.Pseudonym(key)
	if done, err = ledger.EraseRows(func(after int64) (found []int64, err error) {
		err = l.read().each(ctx, sqlErasePage, args(after, key, ledger.ErasePage), list(&found, scanID))
		return found, err
	}, func(rids []int64) (underWay int64, err error) {
		err = l.submit(ctx, &op{urgency: results, rows: len(rids), run: func(t *tx) (err error) {
			underWay, err = t.eraseRows(rids, pseudonym)
			return err
		}})
		return underWay, err
	}); err != nil {
		return done, err
	}
	return done, l.eraseRest(ctx, key, pseudonym, done.UnderWay > 0)
}

// eraseRows erases deliveries that are not under way, and counts the others.
func (t *tx) eraseRows(rids []int64, pseudonym int64) (underWay int64, err error) {
	for _, rid := range rids {
		var busy bool
		if err := t.row(sqlUnderWay, args(rid), &busy); err != nil {
			return 0, err
		}
		if busy {
			underWay++
			continue
		}
		if _, err := t.exec(sqlEraseRow, rid, pseudonym); err != nil {
			return 0, err
		}
		if _, err := t.exec(sqlEraseOutcome, rid); err != nil {
			return 0, err
		}
		if _, err := t.exec(sqlEraseAttempts, rid, pseudonym); err != nil {
			return 0, err
		}
	}
	return underWay, nil
}

const (
	sqlEraseCarried = `UPDATE suppression SET proof = '' WHERE key IN (SELECT target FROM moved WHERE key = ?1)
		AND proof LIKE '%"moved_from":"+' || ?1 || '"%'`
	sqlEraseMoved   = `DELETE FROM moved WHERE key = ?1 OR target = ?1`
	sqlEraseOrphans = `DELETE FROM orphan WHERE key = ?1 AND key <> 0`
	sqlEraseInbound = `DELETE FROM inbound WHERE key = ?1`
	sqlEraseContact = `DELETE FROM contact WHERE key = ?1`
	sqlEraseOptIn   = `DELETE FROM opt_in WHERE key = ?1`
	sqlEraseReceipt = `DELETE FROM first_receipt WHERE key = ?1`
	sqlEraseSender  = `DELETE FROM sender WHERE key = ?1`
	sqlEraseWishes  = `DELETE FROM wish WHERE user_id IN (SELECT user_id FROM user_pair WHERE key = ?1)`
	sqlErasePairs   = `DELETE FROM user_pair WHERE key = ?1`
	// A row that was under way at an earlier erasure may have written its number again since.
	sqlEraseTaken = `UPDATE portfolio SET taken = taken - 1 WHERE id IN (
		SELECT portfolio FROM reach WHERE key = ?1 INTERSECT SELECT portfolio FROM reach WHERE key = ?2)`
	sqlEraseReached  = `DELETE FROM reach WHERE key = ?2 AND (portfolio, rid) IN (SELECT portfolio, rid FROM reach WHERE key = ?1)`
	sqlEraseReach    = `UPDATE reach SET key = ?2 WHERE key = ?1`
	sqlEraseFollowed = `DELETE FROM follow_up WHERE key = ?2 AND parent IN (SELECT parent FROM follow_up WHERE key = ?1)`
	sqlEraseFollowUp = `UPDATE follow_up SET key = ?2 WHERE key = ?1`
	// While deliveries are under way the number itself stays suppressed.
	sqlEraseOptOuts = `DELETE FROM suppression WHERE key = ?1 AND NOT (?2 AND scope = 'all')`
	sqlEraseProof   = `UPDATE suppression SET dest = '', proof = '', source = 'erasure', until = 0 WHERE key = ?1`
)

// eraseRest erases the number outside the runs.
func (l *Ledger) eraseRest(ctx context.Context, key, pseudonym int64, underWay bool) error {
	return l.submit(ctx, &op{urgency: results, rows: 10, run: func(t *tx) error {
		of := []string{sqlEraseCarried, sqlEraseMoved, sqlEraseInbound, sqlEraseContact, sqlEraseOptIn, sqlEraseReceipt,
			sqlEraseSender, sqlEraseWishes, sqlErasePairs}
		if !underWay { // an event that waits may prove what is under way
			of = append(of, sqlEraseOrphans)
		}
		for _, erase := range of {
			if _, err := t.exec(erase, key); err != nil {
				return err
			}
		}
		for _, erase := range []string{sqlEraseTaken, sqlEraseReached, sqlEraseReach, sqlEraseFollowed, sqlEraseFollowUp} {
			if _, err := t.exec(erase, key, pseudonym); err != nil {
				return err
			}
		}
		if _, err := t.exec(sqlEraseOptOuts, key, underWay); err != nil {
			return err
		}
		_, err := t.exec(sqlEraseProof, key)
		return err
	}})
}
