package postgres

import (
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	// The lock makes a delivered status of another replica wait, which then removes what is written.
	sqlLockDelivered = `SELECT w.i FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY w (mh, id, i)
		CROSS JOIN LATERAL (SELECT delivered_at, read_at FROM outcome WHERE mh = w.mh AND message_id IN (w.id, 'erased')
			ORDER BY rid FOR NO KEY UPDATE) o
		WHERE o.delivered_at IS NOT NULL OR o.read_at IS NOT NULL`
	sqlOrphanDelivered = `SELECT w.i FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY w (mh, id, i)
		WHERE (SELECT true FROM orphan WHERE mh = w.mh AND message_id = w.id AND rank >= 3 /* delivered */ LIMIT 1)`
	sqlReachedAnyway = `SELECT d.key, greatest(o.failed_at, o.delivered_at, o.read_at) FROM unnest($1::bigint[]) w (r)
		CROSS JOIN LATERAL (SELECT failed_at, delivered_at, read_at FROM outcome WHERE rid = w.r OFFSET 0) o
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = w.r OFFSET 0) d
		WHERE o.failed_at IS NOT NULL AND (o.delivered_at IS NOT NULL OR o.read_at IS NOT NULL)`
	sqlOrphanReachedAnyway = `SELECT o.* FROM unnest($1::bigint[], $2::text[]) w (mh, id)
		CROSS JOIN LATERAL (SELECT max(key), max(at) FROM orphan WHERE mh = w.mh AND message_id = w.id
			HAVING bool_or(rank = 2 /* failed */) AND bool_or(rank >= 3 /* delivered */)) o`
	sqlReachable = `DELETE FROM suppression s USING unnest($1::bigint[], $2::bigint[]) w (key, at)
		WHERE s.key = ANY($1) AND s.key = w.key AND s.at <= w.at AND ` + ledger.IsFailedUnreachable
)

// reachable writes the suppressions of messages that failed and were not delivered, and removes
// those of the deliveries rids and of the messages orphans, which failed and were delivered. It
// follows the transactions that store the statuses, because only these learn what a message went
// through in all replicas. A batch that fails here is not acknowledged, and comes again.
func (l *Ledger) reachable(ctx context.Context, unreachable []campaign.Suppression, rids []int64, orphans []*messageStatuses) error {
	if len(unreachable)+len(rids)+len(orphans) == 0 {
		return nil
	}
	return l.change(ctx, l.hooks, "", func(t *tx) error {
		list := slices.Clone(unreachable)
		if len(list) > 0 {
			erased, err := l.erasedOf(t, ledger.KeysOfEvents(&campaign.Events{Suppressions: list}))
			if err != nil {
				return err
			}
			if list, err = l.undisproved(t, ledger.UnerasedOf(list, erased)); err != nil {
				return err
			}
		}
		var keys, untils []int64
		add := func(scan scanFunc) error {
			var key, until int64
			err := scan(&key, &until)
			for _, key := range recipients.Spelled([]int64{key}) {
				keys, untils = append(keys, key), append(untils, until)
			}
			return err
		}
		mhs, ids := hashed(orphans)
		if err := t.do(each(add, sqlReachedAnyway, rids), each(add, sqlOrphanReachedAnyway, mhs, ids)); err != nil {
			return err
		}
		t.last(suppressBy(sqlObeyOptOuts, nil, list)...)
		if len(keys) > 0 {
			t.last(stmt(nil, sqlReachable, keys, untils))
		}
		return nil
	})
}

// undisproved returns the suppressions without those whose failed message was delivered.
func (l *Ledger) undisproved(t *tx, list []campaign.Suppression) ([]campaign.Suppression, error) {
	var messages []*messageStatuses
	for _, s := range list {
		id := storedID(s.Proof.Message)
		messages = append(messages, &messageStatuses{mh: l.key.MessageHash(id), id: id})
	}
	mhs, ids := hashed(messages)
	delivered := map[int]bool{}
	see := func(scan scanFunc) error {
		var i int
		err := scan(&i)
		delivered[i-1] = true
		return err
	}
	if err := t.do(each(see, sqlLockDelivered, mhs, ids), each(see, sqlOrphanDelivered, mhs, ids)); err != nil {
		return nil, err
	}
	var kept []campaign.Suppression
	for i, s := range list {
		if !delivered[i] {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// hashed returns the hashes and ids of messages.
func hashed(all []*messageStatuses) (mhs []int64, ids []string) {
	mhs, ids = make([]int64, len(all)), make([]string, len(all))
	for i, m := range all {
		mhs[i], ids[i] = m.mh, m.id
	}
	return mhs, ids
}
