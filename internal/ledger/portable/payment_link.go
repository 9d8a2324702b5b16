package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlPaymentLink      = `SELECT url FROM payment_link WHERE order_id = $1 AND terms = $2`
	sqlStorePaymentLink = `INSERT INTO payment_link (order_id, terms, url, made_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (order_id) DO UPDATE SET terms = excluded.terms, url = excluded.url, made_at = excluded.made_at
		WHERE payment_link.terms <> excluded.terms`
)

// PaymentLink implements campaign.PaymentLinkLedger.
func (l *Ledger) PaymentLink(ctx context.Context, order, terms string) (url string, err error) {
	_, err = l.row(ctx, Reports, []any{&url}, sqlPaymentLink, order, terms)
	return url, err
}

// StorePaymentLink implements campaign.PaymentLinkLedger.
func (l *Ledger) StorePaymentLink(ctx context.Context, made campaign.PaymentLink) (url string, err error) {
	err = l.db.Change(ctx, Reports, func(t Tx) error {
		if _, err := t.Exec(sqlStorePaymentLink, made.Order, made.Terms, made.URL, ledger.Millis(time.Now())); err != nil {
			return err
		}
		_, err := one(t.Lock, []any{&url}, sqlPaymentLink, made.Order, made.Terms)
		return err
	})
	return url, err
}
