package sqlite

import (
	"time"

	"database/sql"
	"errors"
)

const (
	sqlInsertOrphan = `INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code, untimed, marked, attempt)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`
	sqlMergeOrphan = `UPDATE orphan SET code = CASE WHEN ?4 < at THEN ?5 WHEN ?4 = at THEN min(code, ?5) ELSE code END,
			at = min(at, ?4), key = max(key, ?6), connection = max(connection, ?7), untimed = untimed AND ?8,
			marked = max(marked, ?9), attempt = CASE WHEN ?9 > marked THEN ?10 ELSE attempt END
		WHERE mh = ?1 AND message_id = ?2 AND rank = ?3`
)

// keep stores a status whose message no delivery has. It reports false for a repetition.
func (t *tx) keep(s orphanRow) (isNew bool, err error) {
	n, err := t.exec(sqlInsertOrphan, s.mh, s.messageID, int(s.rank), s.at, s.received, s.key, s.connection, s.code, s.untimed,
		s.marked, s.attempt)
	if err != nil || n == 1 {
		return true, err
	}
	_, err = t.exec(sqlMergeOrphan, s.mh, s.messageID, int(s.rank), s.at, s.code, s.key, s.connection, s.untimed, s.marked, s.attempt)
	return false, err
}

const sqlKeyOfRow = `SELECT key FROM delivery WHERE rid = ? AND key <> 0`

// keyOfMark gives a status with a mark the recipient of its delivery: the platform may know the
// person by another spelling of the number, and adoption looks by recipient.
func (t *tx) keyOfMark(s *orphanRow) error {
	if s.marked == 0 {
		return nil
	}
	err := t.row(sqlKeyOfRow, args(s.marked), &s.key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

const sqlDeleteOrphan = `DELETE FROM orphan WHERE mh = ? AND message_id = ? AND rank = ?`

// absorb applies the orphans whose messages are known now, deletes them in the same transaction,
// and returns how many they are.
func (t *tx) absorb(found []messageStatus) (n int, err error) {
	hashes := make([]any, len(found))
	for i := range found {
		hashes[i] = found[i].mh
	}
	at, err := t.locate(hashes)
	if err != nil {
		return 0, err
	}
	var changed changes
	for _, o := range found {
		known, _, err := t.move(o, at, &changed)
		if err != nil {
			return n, err
		}
		if !known {
			continue
		}
		if _, err := t.exec(sqlDeleteOrphan, o.mh, o.messageID, int(o.rank)); err != nil {
			return n, err
		}
		n++
	}
	return n, t.touch(changed, time.Now())
}
