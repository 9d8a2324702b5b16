package postgres

import (
	"context"
	"fmt"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlAnyErased      = `SELECT EXISTS (SELECT 1 FROM suppression WHERE key < 0)`
	sqlSuppressedOnes = `SELECT DISTINCT key FROM suppression WHERE key = ANY($1)`
	// Chunks of an import, events and suppressions that were read before an erasure began are stored
	// before it too, so that Erase finds them. A lock of a table would wait for its vacuum.
	sqlLockNumbers = `SELECT pg_advisory_xact_lock_shared(7163384726178411)`
	sqlLockErasure = `SELECT pg_advisory_xact_lock(7163384726178411)`
)

// erasedOf returns which of the keys were erased. An erasure that begins later
// erases what the transaction then stores of the others.
func (l *Ledger) erasedOf(t *tx, keys []int64) (ledger.Erased, error) {
	if !slices.ContainsFunc(keys, func(key int64) bool { return key > 0 }) {
		return nil, nil
	}
	return l.erasures(t.do, keys, stmt(nil, sqlLockNumbers))
}

// erasures returns which of the keys were erased. ask runs queries, first those of first.
func (l *Ledger) erasures(ask func(...*query) error, keys []int64, first ...*query) (ledger.Erased, error) {
	var some bool
	if err := ask(append(first, row(&some, sqlAnyErased))...); err != nil || !some {
		return nil, err
	}
	keys = recipients.Spelled(keys)
	pseudonyms, of := l.key.Pseudonyms(keys)
	var found []int64
	if err := ask(list(&found, scanID, sqlSuppressedOnes, append(pseudonyms, keys...))); err != nil {
		return nil, err
	}
	return ledger.NewErased(found, of), nil
}

const (
	// The rows with the number among the next ErasePage, then the last of these, as a row id below 0.
	sqlErasePage = `WITH p AS MATERIALIZED (SELECT rid, key FROM delivery WHERE rid > $1 ORDER BY rid LIMIT $3)
		SELECT rid FROM p WHERE key = $2 UNION ALL SELECT -max(rid) FROM p HAVING count(*) > 0`
	sqlEraseSegments = `SELECT id FROM segment WHERE id IN (
			SELECT ((r >> 32) << 32) | ((r & 4294967295) / 4096) FROM unnest($1::bigint[]) w (r))
		ORDER BY id FOR NO KEY UPDATE`
	sqlUnderWay = `SELECT w.r FROM unnest($1::bigint[]) w (r)
		JOIN segment s ON s.id = ((w.r >> 32) << 32) | ((w.r & 4294967295) / 4096) LEFT JOIN outcome o ON o.rid = w.r
		WHERE o.state = 2 /* retrying */ OR o.state = 3 /* in doubt */
			OR o.rid IS NULL AND (w.r & 4294967295) < s.mark AND NOT s.closed`
	sqlEraseRows     = `UPDATE delivery SET key = $2, dest = 'erased', cells = '[]' WHERE rid = ANY($1)`
	sqlEraseOutcomes = `UPDATE outcome SET message_id = CASE WHEN message_id IS NOT NULL THEN 'erased' END, key = NULL,
		detail = NULL, warning = NULL, request_id = NULL, trace_id = NULL WHERE rid = ANY($1)`
	sqlEraseAttempts = `UPDATE attempt SET key = $2 WHERE rid = ANY($1)`
)

// Erase implements campaign.ErasureLedger. From the first step on nothing is sent to the number.
// The server's files keep the old rows until autovacuum has passed.
func (l *Ledger) Erase(ctx context.Context, key int64) (done campaign.Erased, err error) {
	if key <= 0 {
		return done, fmt.Errorf("erase: %d is no key of a number", key)
	}
	keys := recipients.Spelled([]int64{key})
	if err := l.change(ctx, l.reports, "", func(t *tx) error {
		if err := t.do(stmt(nil, sqlLockErasure)); err != nil {
			return err
		}
		t.last(suppress(nil, l.key.Erasures(keys))...)
		return nil
	}); err != nil {
		return done, err
	}
	return ledger.EraseSpellings(keys, func(key int64) (campaign.Erased, error) { return l.erase(ctx, key) })
}

// erase erases what is stored under the key.
func (l *Ledger) erase(ctx context.Context, key int64) (done campaign.Erased, err error) {
	pseudonym := l.key.Pseudonym(key)
	if done, err = ledger.EraseRows(func(after int64) (found []int64, err error) {
		err = l.read(ctx, l.reports, list(&found, scanID, sqlErasePage, after, key, int64(ledger.ErasePage)))
		return found, err
	}, func(rids []int64) (int64, error) {
		var underWay []int64
		err := l.change(ctx, l.reports, "", func(t *tx) error {
			// The lock waits for intents that began before the number was suppressed.
			if err := t.do(stmt(nil, sqlEraseSegments, rids), list(&underWay, scanID, sqlUnderWay, rids)); err != nil {
				return err
			}
			rids := slices.DeleteFunc(slices.Clone(rids), func(rid int64) bool { return slices.Contains(underWay, rid) })
			t.last(stmt(nil, sqlEraseRows, rids, pseudonym), stmt(nil, sqlEraseOutcomes, rids), stmt(nil, sqlEraseAttempts, rids, pseudonym))
			return nil
		})
		return int64(len(underWay)), err
	}); err != nil {
		return done, err
	}
	return done, l.eraseRest(ctx, key, pseudonym, done.UnderWay > 0)
}

const (
	sqlEraseCarried = `UPDATE suppression SET proof = '' WHERE key IN (SELECT target FROM moved WHERE key = $1)
		AND proof LIKE '%"moved_from":"+' || $1::bigint || '"%'`
	sqlEraseMoved   = `DELETE FROM moved WHERE key = $1 OR target = $1`
	sqlEraseOrphans = `DELETE FROM orphan WHERE key = $1 AND key <> 0`
	sqlEraseInbound = `DELETE FROM inbound WHERE key = $1`
	sqlEraseContact = `DELETE FROM contact WHERE key = $1`
	sqlEraseOptIn   = `DELETE FROM opt_in WHERE key = $1`
	sqlEraseReceipt = `DELETE FROM first_receipt WHERE key = $1`
	sqlEraseSender  = `DELETE FROM sender WHERE key = $1`
	sqlEraseWishes  = `DELETE FROM wish WHERE user_id IN (SELECT user_id FROM user_pair WHERE key = $1)`
	sqlErasePairs   = `DELETE FROM user_pair WHERE key = $1`
	// A row that was under way at an earlier erasure may have written its number again since.
	sqlEraseTaken = `UPDATE portfolio SET taken = taken - 1 WHERE id IN (
		SELECT portfolio FROM reach WHERE key = $1 INTERSECT SELECT portfolio FROM reach WHERE key = $2)`
	sqlEraseReached  = `DELETE FROM reach WHERE key = $2 AND (portfolio, rid) IN (SELECT portfolio, rid FROM reach WHERE key = $1)`
	sqlEraseReach    = `UPDATE reach SET key = $2 WHERE key = $1`
	sqlEraseFollowed = `DELETE FROM follow_up WHERE key = $2 AND parent IN (SELECT parent FROM follow_up WHERE key = $1)`
	sqlEraseFollowUp = `UPDATE follow_up SET key = $2 WHERE key = $1`
	// While deliveries are under way the number itself stays suppressed.
	sqlEraseOptOuts = `DELETE FROM suppression WHERE key = $1 AND NOT ($2 AND scope = 'all')`
	sqlEraseProof   = `UPDATE suppression SET dest = '', proof = '', source = 'erasure', until = 0 WHERE key = $1`
)

// eraseRest erases the number outside the runs.
func (l *Ledger) eraseRest(ctx context.Context, key, pseudonym int64, underWay bool) error {
	return l.change(ctx, l.reports, "", func(t *tx) error {
		// An event that is being stored for what was under way comes before, and is erased too.
		if err := t.do(stmt(nil, sqlLockErasure)); err != nil {
			return err
		}
		t.last(stmt(nil, sqlEraseCarried, key), stmt(nil, sqlEraseMoved, key), stmt(nil, sqlEraseInbound, key), stmt(nil, sqlEraseContact, key),
			stmt(nil, sqlEraseOptIn, key), stmt(nil, sqlEraseReceipt, key), stmt(nil, sqlEraseSender, key),
			stmt(nil, sqlEraseWishes, key), stmt(nil, sqlErasePairs, key),
			stmt(nil, sqlEraseTaken, key, pseudonym), stmt(nil, sqlEraseReached, key, pseudonym), stmt(nil, sqlEraseReach, key, pseudonym),
			stmt(nil, sqlEraseFollowed, key, pseudonym), stmt(nil, sqlEraseFollowUp, key, pseudonym),
			stmt(nil, sqlEraseOptOuts, key, underWay), stmt(nil, sqlEraseProof, key))
		if !underWay { // an event that waits may prove what is under way
			t.last(stmt(nil, sqlEraseOrphans, key))
		}
		return nil
	})
}
