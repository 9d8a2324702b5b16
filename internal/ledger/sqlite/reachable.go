package sqlite

import (
	"database/sql"
	"errors"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	// A message that failed and was delivered, on two devices; in either order.
	sqlReachedAnyway = `SELECT d.key, max(o.failed_at, o.delivered_at, o.read_at) FROM outcome o JOIN delivery d ON d.rid = o.rid
		WHERE o.rid = ? AND o.failed_at > 0 AND (o.delivered_at > 0 OR o.read_at > 0)`
	sqlOrphanReachedAnyway = `SELECT max(key), max(at) FROM orphan WHERE mh = ? AND message_id = ?
		HAVING max(rank = 2 /* failed */) AND max(rank >= 3 /* delivered */)`
	sqlReachable = `DELETE FROM suppression WHERE key = ? AND at <= ? AND ` + ledger.IsFailedUnreachable
	sqlDelivered = `SELECT EXISTS (SELECT 1 FROM outcome WHERE mh = ?1 AND mh <> 0 AND message_id IN (?2, 'erased')
			AND (delivered_at > 0 OR read_at > 0))
		OR EXISTS (SELECT 1 FROM orphan WHERE mh = ?1 AND message_id = ?2 AND rank >= 3 /* delivered */)`
)

// reachable removes the suppressions that a failed message made, if the message was delivered too.
// find is sqlReachedAnyway or sqlOrphanReachedAnyway.
func (t *tx) reachable(find string, of ...any) error {
	var key, until int64
	err := t.row(find, of, &key, &until)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	for _, key := range recipients.Spelled([]int64{max(0, key)}) {
		if err == nil {
			_, err = t.exec(sqlReachable, key, until)
		}
	}
	return err
}

// disproved reports whether the failed message of the suppression was delivered to another device.
func (t *tx) disproved(s campaign.Suppression, hash ledger.HashKey) (delivered bool, err error) {
	if ledger.MayBeDisproved(s) {
		err = t.row(sqlDelivered, args(hash.MessageHash(s.Proof.Message), s.Proof.Message), &delivered)
	}
	return delivered, err
}
