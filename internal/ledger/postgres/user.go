package postgres

import (
	"cmp"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlRecipientsOf = `SELECT w.i, d.key, d.dest, coalesce(o.connection, s.connection, '')
		FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY w (mh, id, i)
		CROSS JOIN LATERAL (SELECT rid, connection FROM outcome WHERE mh = w.mh AND message_id = w.id OFFSET 0) o
		CROSS JOIN LATERAL (SELECT key, dest FROM delivery WHERE rid = o.rid AND key > 0 OFFSET 0) d
		CROSS JOIN LATERAL (SELECT connection FROM segment
			WHERE id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) OFFSET 0) s`
	sqlNumbersOf = `SELECT w.i, p.key, p.dest FROM unnest($1::text[]) WITH ORDINALITY w (id, i)
		CROSS JOIN LATERAL (SELECT key, dest FROM user_pair WHERE user_id = w.id OFFSET 0) p`
	sqlWishesOf = `SELECT ` + ledger.WishColumns + ` FROM unnest($1::text[]) u (id)
		CROSS JOIN LATERAL (SELECT * FROM wish WHERE user_id = u.id OFFSET 0) w`
)

// users implements ledger.Users in a transaction.
type users struct {
	*tx
	hash ledger.HashKey
}

// numbers runs a query of a text's position, a key and a number.
func (u users) numbers(of []string, query string, a ...any) (map[string]ledger.Numbers, error) {
	found := make(map[string]ledger.Numbers, len(of))
	if len(of) == 0 {
		return found, nil
	}
	return found, u.do(each(func(scan scanFunc) error {
		var i, key int64
		var to string
		if err := scan(&i, &key, &to); err != nil {
			return err
		}
		if found[of[i-1]] == nil {
			found[of[i-1]] = ledger.Numbers{}
		}
		found[of[i-1]][key] = to
		return nil
	}, query, a...))
}

// Recipients implements ledger.Users.
func (u users) Recipients(messages []string) (map[string][]ledger.Recipient, error) {
	found := make(map[string][]ledger.Recipient, len(messages))
	if len(messages) == 0 {
		return found, nil
	}
	var mhs []int64
	var ids []string
	for _, m := range messages {
		id := storedID(m)
		mhs, ids = append(mhs, u.hash.MessageHash(id)), append(ids, id)
	}
	return found, u.do(each(func(scan scanFunc) error {
		var i int64
		var r ledger.Recipient
		err := scan(&i, &r.Key, &r.To, &r.Over)
		if err == nil {
			found[messages[i-1]] = append(found[messages[i-1]], r)
		}
		return err
	}, sqlRecipientsOf, mhs, ids))
}

// Numbers implements ledger.Users.
func (u users) Numbers(userIDs []string) (map[string]ledger.Numbers, error) {
	return u.numbers(userIDs, sqlNumbersOf, userIDs)
}

// Waiting implements ledger.Users.
func (u users) Waiting(userIDs []string) (found []campaign.Wish, err error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return found, u.do(list(&found, ledger.ScanWish, sqlWishesOf, userIDs))
}

const (
	sqlStorePairs = `INSERT INTO user_pair (user_id, key, dest, at)
		SELECT DISTINCT ON (user_id, key) * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) w (user_id, key, dest, at)
		ORDER BY user_id, key
		ON CONFLICT (user_id, key) DO UPDATE SET at = excluded.at WHERE excluded.at > user_pair.at + $5`
	// The later event counts; a repetition keeps the first receipt.
	sqlStoreWish = `INSERT INTO wish AS o (user_id, answers, mh, event, scope, resume, source, at, until, received, proof)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (user_id, answers, event, scope, resume) DO UPDATE SET
			received = CASE WHEN excluded.at > o.at THEN excluded.received WHEN excluded.at = o.at THEN least(o.received, excluded.received)
				ELSE o.received END,
			at = greatest(o.at, excluded.at), until = greatest(o.until, excluded.until)
		RETURNING xmax = 0`
	sqlDropWish = `DELETE FROM wish WHERE user_id = $1 AND answers = $2 AND event = $3 AND scope = $4 AND resume = $5`
)

// storeUsers writes what attribution found. waiting receives how many wishes began to wait.
func (t *tx) storeUsers(a ledger.Attributed, hash ledger.HashKey, erased ledger.Erased, waiting *int) {
	var ids, dests []string
	var keys, ats []int64
	for _, p := range a.Pairs {
		if !erased.Has(p.Key) {
			ids, keys = append(ids, ledger.PlainText(p.UserID)), append(keys, p.Key)
			dests, ats = append(dests, ledger.PlainText(p.To)), append(ats, ledger.Millis(ledger.OrNow(p.At)))
		}
	}
	if len(ids) > 0 {
		t.last(stmt(nil, sqlStorePairs, ids, keys, dests, ats, ledger.PairStale.Milliseconds()))
	}
	// In one order, so that transactions do not deadlock.
	order := func(a, b campaign.Wish) int {
		return cmp.Or(cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.Answers, b.Answers), cmp.Compare(a.Proof.Message, b.Proof.Message))
	}
	for _, w := range slices.SortedStableFunc(slices.Values(a.Keep), order) {
		t.last(each(func(scan scanFunc) error {
			var isNew bool
			err := scan(&isNew)
			if isNew {
				*waiting++
			}
			return err
		}, sqlStoreWish, ledger.PlainText(w.UserID), storedID(w.Answers), ledger.WishHash(hash, w), storedID(w.Proof.Message),
			ledger.PlainText(w.ScopeText()), w.Resume, ledger.PlainText(w.Source), ledger.Millis(ledger.OrNow(w.At)), ledger.Millis(w.Until),
			ledger.Millis(ledger.OrNow(w.ReceivedAt)), ledger.ProofText(w.Proof)))
	}
	for _, w := range slices.SortedStableFunc(slices.Values(a.Done), order) {
		t.last(stmt(nil, sqlDropWish, ledger.PlainText(w.UserID), storedID(w.Answers), storedID(w.Proof.Message),
			ledger.PlainText(w.ScopeText()), w.Resume))
	}
}
