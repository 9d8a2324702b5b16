package portable

import (
	"cmp"
	"slices"

	"campaignd/internal/ledger"
)

const (
	sqlStoreReceipt = `INSERT INTO first_receipt (key, what, own, at) VALUES ($1, $2, $3, $4) ON CONFLICT (key, what, own) DO NOTHING`
	sqlFirstReceipt = `SELECT at FROM first_receipt WHERE key = $1 AND what = $2 AND own = $3`
)

// FirstReceipts sets the times of receipts to the first ones, and stores those of events that came
// before their own time. It stores them in one order, so that transactions do not deadlock.
func FirstReceipts(t Tx, rs []ledger.Receipt) error {
	var ordered []*ledger.Receipt
	for i := range rs {
		if rs[i].Own != 0 {
			ordered = append(ordered, &rs[i])
		}
	}
	slices.SortFunc(ordered, func(a, b *ledger.Receipt) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.What, b.What), cmp.Compare(a.Own, b.Own), cmp.Compare(a.At, b.At))
	})
	for _, r := range ordered {
		if r.Ahead() {
			if _, err := t.Exec(sqlStoreReceipt, r.Key, r.What, r.Own, r.At); err != nil {
				return err
			}
		}
		first := r.At
		if _, err := one(t.Each, []any{&first}, sqlFirstReceipt, r.Key, r.What, r.Own); err != nil {
			return err
		}
		r.At = min(r.At, first)
	}
	return nil
}
