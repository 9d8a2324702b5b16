package portable

import (
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Only the platform tells prices, so the event is of the connection that sent the message ($3).
const sqlStorePrice = `INSERT INTO price (mh, kind) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM outcome o
		JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096)
		WHERE o.mh = $1 AND o.mh <> 0 AND coalesce(nullif(o.connection, ''), s.connection, '') <> $3)
	ON CONFLICT (mh) DO NOTHING`

// StorePrices stores what events tell of the bill. A message has one price, however many events
// tell it, and may be known later than its event: its hash is the key. It stores them in one order,
// so that transactions do not deadlock.
func StorePrices(t Tx, events []campaign.StatusEvent, hash func(id string) int64) error {
	told, over := map[int64]campaign.Price{}, map[int64]string{}
	var order []int64
	for i := range events {
		if events[i].Price != "" {
			mh := hash(events[i].MessageID)
			if told[mh] == "" {
				order = append(order, mh)
			}
			told[mh], over[mh] = events[i].Price, events[i].Connection
		}
	}
	slices.Sort(order)
	for _, mh := range order {
		if err := t.Last(sqlStorePrice, mh, string(told[mh]), over[mh]); err != nil {
			return err
		}
	}
	return nil
}

// pricePage is how many outcomes one query of prices looks at.
const pricePage = 4096

const sqlPrices = `SELECT d.dest, p.kind, CASE WHEN o.rank >= 3 /* delivered */ THEN
		coalesce(nullif(o.delivered_at, 0), nullif(o.read_at, 0), 0) ELSE 0 END
	FROM outcome o JOIN price p ON p.mh = o.mh JOIN delivery d ON d.rid = o.rid
	WHERE o.rid >= $1 AND o.rid < $2 AND o.mh <> 0 ORDER BY o.rid`

const (
	sqlAnyPrice = `SELECT 1 FROM price LIMIT 1`
	sqlLastRow  = `SELECT coalesce(max(hi), 0) FROM segment WHERE id >= $1 AND id < $2`
)

// Prices implements campaign.PriceLedger.
func (l *Ledger) Prices(ctx context.Context, no campaign.RunNo, f func(campaign.Priced)) error {
	any, err := list(ctx, l.db, Reports, scanInt, sqlAnyPrice)
	if err != nil || len(any) == 0 {
		return err
	}
	last, err := list(ctx, l.db, Reports, scanInt, sqlLastRow, ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0))
	if err != nil {
		return err
	}
	for from := int64(0); from < last[0]; from += pricePage {
		page, err := list(ctx, l.db, Reports, scanPriced, sqlPrices, ledger.RowID(no, from), ledger.RowID(no, from+pricePage))
		if err != nil {
			return err
		}
		for _, p := range page {
			f(p)
		}
	}
	return nil
}

func scanInt(scan Scan) (n int64, err error) {
	err = scan(&n)
	return n, err
}

func scanPriced(scan Scan) (p campaign.Priced, err error) {
	var delivered int64
	err = scan(&p.To, &p.Price, &delivered)
	p.Delivered = ledger.TimeOf(delivered)
	return p, err
}
