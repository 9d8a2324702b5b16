package sqlite

import (
	"database/sql"
	"errors"

	"campaignd/internal/ledger"
)

const (
	sqlStoreReceipt = `INSERT INTO first_receipt (key, what, own, at) VALUES (?, ?, ?, ?) ON CONFLICT (key, what, own) DO NOTHING`
	sqlFirstReceipt = `SELECT at FROM first_receipt WHERE key = ? AND what = ? AND own = ?`
)

// firstReceipts sets the times of receipts to the first ones, and stores those of events that came
// before their own time.
func (t *tx) firstReceipts(rs []ledger.Receipt) error {
	for i := range rs {
		r := &rs[i]
		if r.Own == 0 {
			continue
		}
		if r.Ahead() {
			if _, err := t.exec(sqlStoreReceipt, r.Key, r.What, r.Own, r.At); err != nil {
				return err
			}
		}
		var first int64
		err := t.row(sqlFirstReceipt, args(r.Key, r.What, r.Own), &first)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		r.At = min(r.At, first)
	}
	return nil
}
