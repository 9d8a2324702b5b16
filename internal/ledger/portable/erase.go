package portable

import (
	"context"
	"maps"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	// The rows with the number among the next ErasePage, then the last of these, as a row id below 0.
	sqlErasePage = `WITH p AS MATERIALIZED (SELECT rid, key FROM delivery WHERE rid > $1 ORDER BY rid LIMIT $3)
		SELECT rid FROM p WHERE key = $2 UNION ALL SELECT -max(rid) FROM p HAVING count(*) > 0`
	sqlLockSegment = `SELECT mark FROM segment WHERE id = $1`
	sqlUnderWay    = `SELECT d.rid FROM delivery d
		JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid = $1 AND (o.state = 2 /* retrying */ OR o.state = 3 /* in doubt */
			OR o.rid IS NULL AND (d.rid & 4294967295) < s.mark AND NOT s.closed)`
	sqlEraseRow      = `UPDATE delivery SET key = $2, dest = 'erased', cells = '[]' WHERE rid = $1`
	sqlEraseAttempts = `UPDATE attempt SET key = $2 WHERE rid = $1`
)

// EraseSpellings erases what is stored under each key of a number, and counts it.
func (l *Ledger) EraseSpellings(ctx context.Context, keys []int64) (done campaign.Erased, err error) {
	for _, key := range keys {
		one, err := l.eraseNumber(ctx, key, l.db.Hash().Pseudonym(key))
		done.Rows, done.UnderWay = done.Rows+one.Rows, done.UnderWay+one.UnderWay
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// eraseNumber erases what is stored under the key, which is suppressed already, and puts its
// pseudonym in its place. The first lock waits for intents that began before the suppression.
func (l *Ledger) eraseNumber(ctx context.Context, key, pseudonym int64) (done campaign.Erased, err error) {
	if done, err = ledger.EraseRows(func(after int64) ([]int64, error) {
		return list(ctx, l.db, Reports, scanID, sqlErasePage, after, key, int64(ledger.ErasePage))
	}, func(rids []int64) (underWay int64, err error) {
		err = l.db.Change(ctx, Reports, func(t Tx) (err error) {
			underWay, err = l.eraseRows(t, rids, key, pseudonym)
			return err
		})
		return underWay, err
	}); err != nil {
		return done, err
	}
	return done, l.eraseRest(ctx, key, pseudonym, done.UnderWay > 0)
}

// eraseRows erases deliveries that are not under way, and counts the others. It locks their
// segments in order, as everybody does.
func (l *Ledger) eraseRows(t Tx, rids []int64, key, pseudonym int64) (underWay int64, err error) {
	rids = slices.Sorted(slices.Values(rids))
	for _, rid := range rids {
		var mark int64
		if _, err := one(t.Lock, []any{&mark}, sqlLockSegment, ledger.SegmentOf(rid)); err != nil {
			return 0, err
		}
	}
	if err := tellErased(t, rids); err != nil {
		return 0, err
	}
	for _, rid := range rids {
		busy, err := one(t.Each, []any{&rid}, sqlUnderWay, rid)
		if err != nil {
			return 0, err
		}
		if busy {
			underWay++
			continue
		}
		if err := forgetKey(t, rid, key); err != nil {
			return 0, err
		}
		if _, err := t.Exec(sqlEraseRow, rid, pseudonym); err != nil {
			return 0, err
		}
		if err := tellChanged(t, ledger.SegmentOf(rid)); err != nil { // the row is of no country any more
			return 0, err
		}
		if _, err := t.Exec(l.own.EraseOutcome, rid); err != nil {
			return 0, err
		}
		if _, err := t.Exec(sqlEraseAttempts, rid, pseudonym); err != nil {
			return 0, err
		}
	}
	return underWay, nil
}

const (
	sqlEraseCarried = `UPDATE suppression SET proof = '' WHERE key IN (SELECT target FROM moved WHERE key = $1)
		AND proof LIKE '%"moved_from":"+' || CAST($1 AS bigint) || '"%'`
	sqlEraseMoved   = `DELETE FROM moved WHERE key = $1 OR target = $1`
	sqlEraseOrphans = `DELETE FROM orphan WHERE key = $1 AND key <> 0`
	sqlEraseInbound = `DELETE FROM inbound WHERE key = $1`
	sqlEraseReply   = `DELETE FROM reply WHERE key = $1`
	sqlEraseContact = `DELETE FROM contact WHERE key = $1`
	sqlEraseOptIn   = `DELETE FROM opt_in WHERE key = $1`
	sqlEraseReceipt = `DELETE FROM first_receipt WHERE key = $1`
	sqlEraseSender  = `DELETE FROM sender WHERE key = $1`
	sqlEraseWishes  = `DELETE FROM wish WHERE user_id IN (SELECT user_id FROM user_pair WHERE key = $1)`
	sqlEraseLinks   = `DELETE FROM payment_link WHERE order_id IN (SELECT id FROM purchase WHERE key = $1)`
	sqlErasePairs   = `DELETE FROM user_pair WHERE key = $1`
	// A row that was under way at an earlier erasure may have written its number again since.
	sqlEraseTaken = `UPDATE portfolio SET taken = taken - 1 WHERE id IN (
		SELECT portfolio FROM reach WHERE key = $1 INTERSECT SELECT portfolio FROM reach WHERE key = $2)`
	sqlEraseReached  = `DELETE FROM reach WHERE key = $2 AND (portfolio, rid) IN (SELECT portfolio, rid FROM reach WHERE key = $1)`
	sqlEraseReach    = `UPDATE reach SET key = $2 WHERE key = $1`
	sqlEraseFollowed = `DELETE FROM follow_up WHERE key = $2 AND parent IN (SELECT parent FROM follow_up WHERE key = $1)`
	sqlEraseFollowUp = `UPDATE follow_up SET key = $2 WHERE key = $1`
	sqlErasePurchase = `UPDATE purchase SET key = $2 WHERE key = $1`
	// While deliveries are under way the number itself stays suppressed.
	sqlEraseOptOuts = `DELETE FROM suppression WHERE key = $1 AND NOT ($2 AND scope = 'all')`
	sqlEraseProof   = `UPDATE suppression SET dest = '', proof = '', source = 'erasure', until = 0 WHERE key = $1`
)

// eraseRest erases the number outside the runs.
func (l *Ledger) eraseRest(ctx context.Context, key, pseudonym int64, underWay bool) error {
	of := []string{sqlEraseCarried, sqlEraseMoved, sqlEraseInbound, sqlEraseReply, sqlEraseContact, sqlEraseReceipt,
		sqlEraseSender, sqlEraseWishes, sqlErasePairs, sqlEraseLinks}
	if !underWay { // an event that waits may prove what is under way
		of = append(of, sqlEraseOrphans)
	}
	return l.db.Change(ctx, Reports, func(t Tx) error {
		// An event that is being stored for what was under way comes before, and is erased too.
		if l.own.LockErasure != "" {
			if _, err := t.Exec(l.own.LockErasure); err != nil {
				return err
			}
		}
		for _, erase := range of {
			if _, err := t.Exec(erase, key); err != nil {
				return err
			}
		}
		for _, erase := range []string{sqlEraseTaken, sqlEraseReached, sqlEraseReach, sqlEraseFollowed, sqlEraseFollowUp,
			sqlErasePurchase} {
			if _, err := t.Exec(erase, key, pseudonym); err != nil {
				return err
			}
		}
		if _, err := t.Exec(sqlEraseOptOuts, key, underWay); err != nil {
			return err
		}
		for _, erase := range []string{sqlEraseProof, sqlEraseOptIn} { // an opt-out that was being removed has its row now
			if _, err := t.Exec(erase, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pseudonyms implements campaign.ErasureLedger.
func (l *Ledger) Pseudonyms(key int64) []int64 {
	all, _ := l.db.Hash().Pseudonyms(recipients.Spelled([]int64{key}))
	return all
}

const (
	sqlKeysPage = `SELECT rid, key FROM delivery WHERE rid > $1 ORDER BY rid LIMIT $2`
	// The tables that eraseRest forgets a number in.
	sqlKeysElsewhere = `SELECT key FROM suppression WHERE key > 0 UNION ALL SELECT key FROM moved UNION ALL SELECT target FROM moved
		UNION ALL SELECT key FROM orphan UNION ALL SELECT key FROM inbound UNION ALL SELECT key FROM reply
		UNION ALL SELECT key FROM contact UNION ALL SELECT key FROM opt_in UNION ALL SELECT key FROM first_receipt
		UNION ALL SELECT key FROM sender UNION ALL SELECT key FROM user_pair UNION ALL SELECT key FROM reach
		UNION ALL SELECT key FROM follow_up UNION ALL SELECT key FROM purchase`
)

// Named implements campaign.ErasureLedger. It reads every key of the ledger, because only the key
// of a number leads to its pseudonym.
func (l *Ledger) Named(ctx context.Context, pseudonyms []int64) (keys []int64, err error) {
	if len(pseudonyms) == 0 {
		return nil, nil
	}
	wanted, found := map[int64]bool{}, map[int64]bool{}
	for _, p := range pseudonyms {
		wanted[p] = true
	}
	see := func(key int64) {
		if key > 0 && !found[key] && wanted[l.db.Hash().Pseudonym(key)] {
			found[key] = true
		}
	}
	for last, more := int64(0), true; more; {
		more = false
		if err := l.db.Rows(ctx, Reports, func() {}, func(scan Scan) (err error) {
			var key int64
			more, err = true, scan(&last, &key)
			see(key)
			return err
		}, sqlKeysPage, last, int64(ledger.ErasePage)); err != nil {
			return nil, err
		}
	}
	err = l.db.Rows(ctx, Reports, func() {}, func(scan Scan) error {
		var key int64
		err := scan(&key)
		see(key)
		return err
	}, sqlKeysElsewhere)
	return slices.Sorted(maps.Keys(found)), err
}

func scanID(scan Scan) (id int64, err error) {
	err = scan(&id)
	return id, err
}
