package sqlite

import (
	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlRecipientOf = `SELECT d.key, d.dest, coalesce(nullif(o.connection, ''), s.connection, '')
		FROM outcome o CROSS JOIN delivery d ON d.rid = o.rid
		CROSS JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096)
		WHERE o.mh = ? AND o.mh <> 0 AND o.message_id = ? AND d.key > 0`
	sqlNumbersOf = `SELECT key, dest FROM user_pair WHERE user_id = ?`
	sqlAnyWish   = `SELECT EXISTS (SELECT 1 FROM wish)`
	sqlWishesOf  = `SELECT ` + ledger.WishColumns + ` FROM wish w WHERE w.user_id = ?`
)

// users implements ledger.Users in a transaction.
type users struct {
	*tx
	hash ledger.HashKey
}

func (u users) numbers(query string, a ...any) (ledger.Numbers, error) {
	found := ledger.Numbers{}
	err := u.each(query, a, func(scan scanFunc) error {
		var key int64
		var to string
		err := scan(&key, &to)
		found[key] = to
		return err
	})
	return found, err
}

// Recipients implements ledger.Users.
func (u users) Recipients(messages []string) (map[string][]ledger.Recipient, error) {
	found := make(map[string][]ledger.Recipient, len(messages))
	for _, id := range messages {
		if err := u.each(sqlRecipientOf, args(u.hash.MessageHash(id), id), func(scan scanFunc) error {
			var r ledger.Recipient
			err := scan(&r.Key, &r.To, &r.Over)
			found[id] = append(found[id], r)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Numbers implements ledger.Users.
func (u users) Numbers(userIDs []string) (map[string]ledger.Numbers, error) {
	found := make(map[string]ledger.Numbers, len(userIDs))
	for _, id := range userIDs {
		n, err := u.numbers(sqlNumbersOf, id)
		if err != nil {
			return nil, err
		}
		found[id] = n
	}
	return found, nil
}

// Waiting implements ledger.Users.
func (u users) Waiting(userIDs []string) (found []campaign.Wish, err error) {
	var some bool
	if len(userIDs) == 0 {
		return nil, nil
	}
	if err := u.row(sqlAnyWish, nil, &some); err != nil || !some {
		return nil, err
	}
	for _, id := range userIDs {
		if err := u.each(sqlWishesOf, args(id), list(&found, ledger.ScanWish)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

const (
	sqlStorePair = `INSERT INTO user_pair (user_id, key, dest, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (user_id, key) DO UPDATE SET at = excluded.at WHERE excluded.at > at + ?`
	sqlStoreWish = `INSERT INTO wish (user_id, answers, mh, event, scope, resume, source, at, until, received, proof)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	// The later event counts; a repetition keeps the first receipt.
	sqlRepeatWish = `UPDATE wish SET received = CASE WHEN ?6 > at THEN ?8 WHEN ?6 = at THEN min(received, ?8) ELSE received END,
			at = max(at, ?6), until = max(until, ?7)
		WHERE user_id = ?1 AND answers = ?2 AND event = ?3 AND scope = ?4 AND resume = ?5`
	sqlDropWish = `DELETE FROM wish WHERE user_id = ?1 AND answers = ?2 AND event = ?3 AND scope = ?4 AND resume = ?5`
)

// storeUsers writes what attribution found, and returns how many wishes began to wait.
func (t *tx) storeUsers(a ledger.Attributed, hash ledger.HashKey, erased ledger.Erased) (waiting int, err error) {
	for _, p := range a.Pairs {
		if erased.Has(p.Key) {
			continue
		}
		if _, err := t.exec(sqlStorePair, p.UserID, p.Key, p.To, ledger.Millis(ledger.OrNow(p.At)), ledger.PairStale.Milliseconds()); err != nil {
			return 0, err
		}
	}
	for _, w := range a.Keep {
		at, received := ledger.Millis(ledger.OrNow(w.At)), ledger.Millis(ledger.OrNow(w.ReceivedAt))
		n, err := t.exec(sqlStoreWish, w.UserID, w.Answers, ledger.WishHash(hash, w), w.Proof.Message, w.ScopeText(), w.Resume, w.Source,
			at, ledger.Millis(w.Until), received, ledger.ProofText(w.Proof))
		if err == nil && n == 0 {
			_, err = t.exec(sqlRepeatWish, w.UserID, w.Answers, w.Proof.Message, w.ScopeText(), w.Resume, at, ledger.Millis(w.Until), received)
		}
		if err != nil {
			return 0, err
		}
		waiting += int(n)
	}
	for _, w := range a.Done {
		if _, err := t.exec(sqlDropWish, w.UserID, w.Answers, w.Proof.Message, w.ScopeText(), w.Resume); err != nil {
			return 0, err
		}
	}
	return waiting, nil
}
