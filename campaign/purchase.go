package campaign

import (
	"context"
	"time"

	"campaignd/campaign/conversion"
	"campaignd/campaign/reception"
)

// OrderHint says that an order of the commerce platform may have changed. It is told by an event,
// which anybody may repeat, so the order itself is asked for before it counts.
type OrderHint struct {
	Order    string
	At       time.Time // when the platform says that the order changed last
	Received time.Time // when the first event came that waits
	Events   int64     // how many wait; the ledger counts them
}

// MaxUnread is the most ids of unreadable orders that the ledger keeps.
const MaxUnread = 1000

// PaymentLink is a link with which somebody pays an order of the commerce platform.
type PaymentLink struct {
	Order string
	Terms string // what the link was made for, such as the amount
	URL   string
}

// PaymentLinkLedger keeps the payment links that are sent, one for each order
// (docs/commerce.md#payment-links).
type PaymentLinkLedger interface {
	// PaymentLink returns the link of an order that was made for these terms; "" if there is none.
	PaymentLink(ctx context.Context, order, terms string) (url string, err error)
	// StorePaymentLink keeps a link in place of one for other terms. It returns the link to send: the
	// first that was stored for the terms.
	StorePaymentLink(ctx context.Context, l PaymentLink) (url string, err error)
}

// PurchaseLedger keeps the orders of the commerce platform, and the deliveries to the people who
// placed them (docs/commerce.md#conversions).
type PurchaseLedger interface {
	// AddHints keeps hints durably. An order has one hint, however many events name it.
	AddHints(ctx context.Context, hints []OrderHint) error
	// Hints returns at most n hints, the oldest first.
	Hints(ctx context.Context, n int) ([]OrderHint, error)
	// HintBacklog is how many hints wait, and since when the oldest does.
	HintBacklog(ctx context.Context) (n int64, oldest time.Time, err error)
	// EndHint removes a hint unless an event came since it was read.
	EndHint(ctx context.Context, h OrderHint) error
	// StorePurchases keeps orders, and ends the hints that tell of no later change. The newest
	// UpdatedAt of an order wins. The number of an order whose number was erased is not stored.
	StorePurchases(ctx context.Context, orders []conversion.Order) error
	// StoreUnread keeps the ids of orders that the platform gave in no readable form at an instant; ""
	// is an order without an id. It keeps MaxUnread of them, and StorePurchases forgets an order that
	// it stores.
	StoreUnread(ctx context.Context, ids []string, at time.Time) error
	// AskAgain adds a hint for at most n orders that count for a run, were created since an instant,
	// and have not been asked for since before; those that were asked for longest ago come first.
	AskAgain(ctx context.Context, created, before, now time.Time, n int) error
	// RemovePurchase ends an order that the platform does not have any more, and its hint. It reports
	// whether the order was stored and had not ended.
	RemovePurchase(ctx context.Context, h OrderHint) (counted bool, err error)
	// PolledUntil is the change up to which all orders were read; zero at first.
	PolledUntil(ctx context.Context) (time.Time, error)
	SetPolledUntil(ctx context.Context, at time.Time) error
	// MatchPurchases looks for the orders of the people of one segment that were created in a span,
	// and keeps them with their deliveries: those that the import queued or held out. It returns how
	// many were new or changed. It may be repeated at any time.
	MatchPurchases(ctx context.Context, s SegmentState, created reception.Span, rule conversion.Rule) (changed int, err error)
}
