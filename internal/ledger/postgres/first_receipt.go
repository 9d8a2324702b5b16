package postgres

import "campaignd/internal/ledger"

const (
	// The receipts of one transaction are few, and may name an event twice.
	sqlStoreReceipts = `INSERT INTO first_receipt (key, what, own, at)
		SELECT key, what, own, min(at) FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) w (key, what, own, at)
		WHERE own > at GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
		ON CONFLICT (key, what, own) DO NOTHING`
	sqlFirstReceipts = `SELECT w.i, f.at
		FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY w (key, what, own, i)
		CROSS JOIN LATERAL (SELECT at FROM first_receipt WHERE key = w.key AND what = w.what AND own = w.own OFFSET 0) f`
)

// firstReceipts sets the times of receipts to the first ones, and stores those of events that came
// before their own time.
func (t *tx) firstReceipts(rs []ledger.Receipt) error {
	if len(rs) == 0 {
		return nil
	}
	var keys, owns, ats []int64
	var whats []string
	for _, r := range rs {
		keys, whats, owns, ats = append(keys, r.Key), append(whats, plainText(r.What)), append(owns, r.Own), append(ats, r.At)
	}
	return t.do(stmt(nil, sqlStoreReceipts, keys, whats, owns, ats), each(func(scan scanFunc) error {
		var i, first int64
		err := scan(&i, &first)
		if err == nil {
			rs[i-1].At = min(rs[i-1].At, first)
		}
		return err
	}, sqlFirstReceipts, keys, whats, owns))
}
