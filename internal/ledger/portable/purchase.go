package portable

import (
	"context"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
)

const (
	sqlAddHint = `INSERT INTO order_hint (id, at, received, events) VALUES ($1, $2, $3, 1)
		ON CONFLICT (id) DO UPDATE SET at = greatest(order_hint.at, excluded.at), events = order_hint.events + 1`
	sqlHints   = `SELECT id, at, received, events FROM order_hint ORDER BY received LIMIT $1`
	sqlBacklog = `SELECT count(*), coalesce(min(received), 0) FROM order_hint`
	sqlEndHint = `DELETE FROM order_hint WHERE id = $1 AND events = $2`
)

// AddHints implements campaign.PurchaseLedger. Hints are added in the order of their ids, so that
// two processes never wait for each other.
func (l *Ledger) AddHints(ctx context.Context, hints []campaign.OrderHint) error {
	hints = slices.SortedFunc(slices.Values(hints), func(a, b campaign.OrderHint) int { return strings.Compare(a.Order, b.Order) })
	return l.db.Change(ctx, Webhooks, func(t Tx) error {
		for _, h := range hints {
			if _, err := t.Exec(sqlAddHint, h.Order, ledger.Millis(h.At), ledger.Millis(h.Received)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Hints implements campaign.PurchaseLedger.
func (l *Ledger) Hints(ctx context.Context, n int) ([]campaign.OrderHint, error) {
	return list(ctx, l.db, Reports, ledger.ScanHint, sqlHints, int64(n))
}

// HintBacklog implements campaign.PurchaseLedger.
func (l *Ledger) HintBacklog(ctx context.Context) (n int64, oldest time.Time, err error) {
	var since int64
	_, err = l.row(ctx, Reports, []any{&n, &since}, sqlBacklog)
	return n, ledger.TimeOf(since), err
}

// EndHint implements campaign.PurchaseLedger.
func (l *Ledger) EndHint(ctx context.Context, h campaign.OrderHint) error {
	_, err := l.exec(ctx, Reports, sqlEndHint, h.Order, h.Events)
	return err
}

const (
	sqlPurchase = `SELECT key FROM purchase WHERE id = $1`
	// A poll reads each order again and again, and most have not changed. The number of an erased
	// order stays erased. One that retention may have deleted, of before $10, stays deleted.
	sqlStorePurchase = `INSERT INTO purchase (id, key, created_at, updated_at, due, ended, was_paid, amount, currency, asked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $11)
		ON CONFLICT (id) DO UPDATE SET key = CASE WHEN purchase.key < 0 THEN purchase.key ELSE excluded.key END,
			created_at = excluded.created_at, updated_at = excluded.updated_at, due = excluded.due, ended = excluded.ended,
			was_paid = greatest(purchase.was_paid, excluded.was_paid), amount = excluded.amount, currency = excluded.currency
		WHERE excluded.updated_at > purchase.updated_at OR excluded.updated_at = purchase.updated_at AND (
			excluded.key <> purchase.key AND (purchase.key > 0 OR purchase.key = 0 AND purchase.updated_at > $10)
			OR excluded.due <> purchase.due OR excluded.ended <> purchase.ended OR excluded.amount <> purchase.amount)`
	// The order is another person's now.
	sqlUnmatch  = `DELETE FROM conversion WHERE order_id = $1`
	sqlHintOver = `DELETE FROM order_hint WHERE id = $1 AND at <= $2`
	sqlNowRead  = `DELETE FROM unread_order WHERE id = $1`
)

// StorePurchases implements campaign.PurchaseLedger.
func (l *Ledger) StorePurchases(ctx context.Context, orders []conversion.Order) error {
	orders = slices.SortedFunc(slices.Values(orders), func(a, b conversion.Order) int { return strings.Compare(a.ID, b.ID) })
	var keys []int64
	for i := range orders {
		if key := orders[i].Key; key > 0 {
			keys = append(keys, key)
		}
	}
	return l.db.Change(ctx, Reports, func(t Tx) error {
		erased, err := l.db.Erased(t, keys)
		if err != nil {
			return err
		}
		for i := range orders {
			o := orders[i]
			told := o.Key > 0
			if o.Key < 0 || erased.Has(o.Key) {
				o.Key = 0
			}
			if err := storePurchase(t, &o, told); err != nil {
				return err
			}
		}
		return nil
	})
}

// storePurchase stores one order. told says that the platform told a number of its person: one of
// two answers about an order may lack it, and the other one has it.
func storePurchase(t Tx, o *conversion.Order, told bool) error {
	var was int64
	known, err := one(t.Lock, []any{&was}, sqlPurchase, o.ID)
	if err != nil {
		return err
	}
	if !told {
		o.Key = max(0, was)
	}
	updated, now := ledger.Millis(o.UpdatedAt), time.Now()
	n, err := t.Exec(sqlStorePurchase, o.ID, o.Key, ledger.Millis(o.CreatedAt), updated, bit(o.Due), bit(o.Ended), bit(o.WasPaid),
		o.Amount, o.Currency, ledger.Millis(now.Add(-campaign.LeastRetention)), ledger.Millis(now))
	if err == nil && known && n > 0 && was > 0 && was != o.Key {
		_, err = t.Exec(sqlUnmatch, o.ID)
	}
	if err == nil {
		_, err = t.Exec(sqlHintOver, o.ID, updated)
	}
	if err == nil {
		_, err = t.Exec(sqlNowRead, o.ID)
	}
	return err
}

const (
	sqlStoreUnread = `INSERT INTO unread_order (id, at) SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT)
		WHERE (SELECT count(*) FROM unread_order) < $3
		OR EXISTS (SELECT 1 FROM unread_order WHERE id = $1) ON CONFLICT (id) DO UPDATE SET at = excluded.at`
	sqlUnread = `SELECT count(*), coalesce(max(id), '') FROM unread_order`
)

// StoreUnread implements campaign.PurchaseLedger.
func (l *Ledger) StoreUnread(ctx context.Context, ids []string, at time.Time) error {
	return l.db.Change(ctx, Reports, func(t Tx) error {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			if _, err := t.Exec(sqlStoreUnread, id, ledger.Millis(at), int64(campaign.MaxUnread)); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	sqlToAsk = `SELECT p.id, 0, 0, 0 FROM purchase p WHERE p.ended = 0 AND p.asked_at < $1 AND p.created_at >= $2
		AND EXISTS (SELECT 1 FROM conversion c WHERE c.order_id = p.id) ORDER BY p.asked_at LIMIT $3`
	sqlAsked    = `UPDATE purchase SET asked_at = $2 WHERE id = $1`
	sqlEndOrder = `UPDATE purchase SET ended = 1 WHERE id = $1 AND ended = 0`
)

// AskAgain implements campaign.PurchaseLedger.
func (l *Ledger) AskAgain(ctx context.Context, created, before, now time.Time, n int) error {
	found, err := list(ctx, l.db, Reports, ledger.ScanHint, sqlToAsk, ledger.Millis(before), ledger.Millis(created), int64(n))
	if err != nil || len(found) == 0 {
		return err
	}
	slices.SortFunc(found, func(a, b campaign.OrderHint) int { return strings.Compare(a.Order, b.Order) })
	return l.db.Change(ctx, Reports, func(t Tx) error {
		for _, h := range found {
			if _, err := t.Exec(sqlAsked, h.Order, ledger.Millis(now)); err != nil {
				return err
			}
			if _, err := t.Exec(sqlAddHint, h.Order, int64(0), ledger.Millis(now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemovePurchase implements campaign.PurchaseLedger.
func (l *Ledger) RemovePurchase(ctx context.Context, h campaign.OrderHint) (counted bool, err error) {
	err = l.db.Change(ctx, Reports, func(t Tx) error {
		n, err := t.Exec(sqlEndOrder, h.Order)
		if counted = n > 0; err == nil {
			_, err = t.Exec(sqlEndHint, h.Order, h.Events)
		}
		return err
	})
	return counted, err
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

const (
	sqlPolled    = `SELECT updated_at FROM polled`
	sqlSetPolled = `UPDATE polled SET updated_at = $1`
)

// PolledUntil implements campaign.PurchaseLedger.
func (l *Ledger) PolledUntil(ctx context.Context) (time.Time, error) {
	var at int64
	_, err := l.row(ctx, Reports, []any{&at}, sqlPolled)
	return ledger.TimeOf(at), err
}

// SetPolledUntil implements campaign.PurchaseLedger.
func (l *Ledger) SetPolledUntil(ctx context.Context, at time.Time) error {
	_, err := l.exec(ctx, Reports, sqlSetPolled, ledger.Millis(at))
	return err
}

const (
	// CROSS JOIN makes SQLite look each delivery up among the orders, and not the other way round.
	sqlMatch = `SELECT d.rid, p.id, p.created_at, o.state, coalesce(o.result_at, 0), coalesce(o.code, ''),
			coalesce(c.accepted_at, -1)
		FROM delivery d CROSS JOIN purchase p LEFT JOIN outcome o ON o.rid = d.rid
			LEFT JOIN conversion c ON c.order_id = p.id AND c.rid = d.rid
		WHERE d.rid >= $1 AND d.rid < $2 AND p.key = d.key AND p.key <> 0 AND p.created_at >= $3 AND p.created_at <= $4`
	sqlConvert = `INSERT INTO conversion (order_id, rid, accepted_at, held_out) VALUES ($1, $2, $3, $4)
		ON CONFLICT (order_id, rid) DO UPDATE SET accepted_at = excluded.accepted_at`
)

// MatchPurchases implements campaign.PurchaseLedger. It reads first, because in most segments
// nothing changed.
func (l *Ledger) MatchPurchases(ctx context.Context, s campaign.SegmentState, created reception.Span, rule conversion.Rule) (int, error) {
	found, err := list(ctx, l.db, Reports, ledger.ScanMatched, sqlMatch, ledger.RowID(s.Run, s.Lo), ledger.RowID(s.Run, s.Hi),
		ledger.Millis(created.Since), ledger.Millis(created.Until))
	if err != nil {
		return 0, err
	}
	type touch struct {
		m        *ledger.Matched
		at, held int64
	}
	var changed []touch
	for i := range found {
		if at, held, write := found[i].Touch(s.Closed, rule); write {
			changed = append(changed, touch{&found[i], at, bit(held)})
		}
	}
	if len(changed) == 0 {
		return 0, nil
	}
	if err := l.db.Change(ctx, Reports, func(t Tx) error {
		for _, c := range changed {
			if _, err := t.Exec(sqlConvert, c.m.Order, c.m.RID, c.at, c.held); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return len(changed), nil
}

const sqlBought = `SELECT p.id, p.amount, p.currency, p.created_at, p.due, p.ended, p.was_paid, c.rid, c.accepted_at, c.held_out
	FROM conversion c JOIN purchase p ON p.id = c.order_id
	WHERE c.order_id IN (SELECT order_id FROM conversion WHERE rid >= $1 AND rid < $2) ORDER BY p.id, c.rid`

// CountPurchases implements campaign.ReportLedger.
func (l *Ledger) CountPurchases(ctx context.Context, t conversion.Tally) (conversion.Tally, error) {
	no := campaign.RunNo(t.Run)
	fold := ledger.Fold{Tally: t}
	err := l.db.Rows(ctx, Reports, func() { fold = ledger.Fold{Tally: t} }, func(scan Scan) error {
		b, err := ledger.ScanBought(scan)
		if err != nil {
			return err
		}
		return fold.Add(&b)
	}, sqlBought, ledger.RowID(no, 0), ledger.RowID(no+1, 0))
	if err == nil {
		err = fold.End()
	}
	if err == nil {
		_, err = l.row(ctx, Reports, []any{&fold.Tally.Unread, &fold.Tally.UnreadID}, sqlUnread)
	}
	return fold.Tally, err
}
