package campaign

import (
	"context"
	"strings"
	"time"

	"campaignd/internal/messaging"
)

// Price is what the platform told of the bill for a message: TYPE/CATEGORY, such as
// regular/marketing. Empty: nothing was told. It tells no amount (docs/cloud.md#cost).
type Price string

// PriceOf reads the price of an event. Words that are not the platform's, which are short and have
// letters, digits and _ only, are left out.
func PriceOf(p *messaging.Pricing) Price {
	if p == nil {
		return ""
	}
	kind, category := priceWord(p.Type), priceWord(p.Category)
	if kind == "" && category == "" {
		return ""
	}
	return Price(kind + "/" + category)
}

func priceWord(s string) string {
	other := func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	if len(s) > 32 || strings.ContainsFunc(s, other) {
		return ""
	}
	return s
}

// Words returns the type and the category; each may be empty.
func (p Price) Words() (kind, category string) {
	kind, category, _ = strings.Cut(string(p), "/")
	return kind, category
}

// Priced is a delivery whose price was told.
type Priced struct {
	To        string
	Price     Price
	Delivered time.Time // zero: not that we know
}

// Priced is what the platform told of the bill for a row.
func (l *Line) Priced() Priced {
	p := Priced{To: l.To, Price: l.Price}
	switch {
	case l.Status != Delivered && l.Status != Read:
	case l.DeliveredAt.IsZero():
		p.Delivered = l.ReadAt
	default:
		p.Delivered = l.DeliveredAt
	}
	return p
}

// PriceLedger has the prices that were told.
type PriceLedger interface {
	// Prices calls f for each delivery of a run whose price was told, in the order of sending. It
	// reads in short pages. Deliveries that retention deleted are not among them.
	Prices(ctx context.Context, no RunNo, f func(Priced)) error
}
