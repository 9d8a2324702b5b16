package portable

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const (
	sqlAnyForgotten = `SELECT EXISTS (SELECT 1 FROM inbound WHERE at <= $1) OR EXISTS (SELECT 1 FROM contact WHERE until <= $2)
		OR EXISTS (SELECT 1 FROM first_receipt WHERE at <= $3) OR EXISTS (SELECT 1 FROM wish)`
	sqlForgetInbound = `DELETE FROM inbound WHERE (key, connection) IN (
		SELECT key, connection FROM inbound WHERE at <= $1 ORDER BY at LIMIT $2)`
	sqlForgetContact = `DELETE FROM contact WHERE (key, rid) IN (SELECT key, rid FROM contact WHERE until <= $1 ORDER BY until LIMIT $2)`
	sqlForgetReceipt = `DELETE FROM first_receipt WHERE (key, what, own) IN (
		SELECT key, what, own FROM first_receipt WHERE at <= $1 ORDER BY at LIMIT $2)`
	sqlForgetWish = `DELETE FROM wish WHERE received <= $1 OR id <= (SELECT id FROM wish ORDER BY id DESC LIMIT 1 OFFSET $2)`
)

// forgetEvery is how often a sweep deletes contacts and service windows that nothing counts any
// more.
const forgetEvery = time.Minute

// ForgetPeople deletes some of what no limit counts any more, from time to time. It deletes nothing
// while now, by which all of it is too old, is zero.
func (l *Ledger) ForgetPeople(ctx context.Context, now time.Time) error {
	if now.IsZero() {
		return nil
	}
	last := l.forgotAt.Load()
	due := last == 0 || now.Sub(ledger.TimeOf(last)) >= forgetEvery || now.Before(ledger.TimeOf(last))
	if !due || !l.forgotAt.CompareAndSwap(last, ledger.Millis(now)) {
		return nil
	}
	var old bool
	inbound, contact := ledger.Millis(now.Add(-ledger.InboundFor)), ledger.Millis(now)
	receipt := ledger.Millis(now.Add(-ledger.FirstReceiptFor))
	if _, err := l.row(ctx, Webhooks, []any{&old}, sqlAnyForgotten, inbound, contact, receipt); err != nil || !old {
		return err
	}
	return l.db.Change(ctx, Webhooks, func(t Tx) error {
		if _, err := t.Exec(sqlForgetInbound, inbound, int64(ledger.SweepStep)); err != nil {
			return err
		}
		if _, err := t.Exec(sqlForgetContact, contact, int64(ledger.SweepStep)); err != nil {
			return err
		}
		if _, err := t.Exec(sqlForgetReceipt, receipt, int64(ledger.SweepStep)); err != nil {
			return err
		}
		_, err := t.Exec(sqlForgetWish, receipt, int64(ledger.WishCap))
		return err
	})
}
