package shop

import (
	"fmt"

	"github.com/shopspring/decimal"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// order is an order of a customer. Its sums are computed by the server
// (docs/commerce.md#assumptions).
type order struct {
	id        string
	number    int // of the reference, in its company from 1 on
	company   *company
	customer  string // id
	shop      string // id, or ""
	currency  string
	source    string
	status    string // pending, ..., cancelled, refunded
	lines     []line
	discounts []*discount // of the order, in the order sent
	fee       string      // id of the shipping fee, or ""
	pickup    string      // id of the pickup location, or ""
	billing   billing
	shipping  shipping
	metadata  value.Object
	sums      value.Totals
	taken     []taken // the stock that the order has
	created   value.Stamp
	updated   value.Stamp
	expires   value.Stamp // zero: never
	invoice   *invoice    // nil before the first payment
	payments  []*payment
	paid      decimal.Decimal
}

// line is a product of an order. A line of an admin order may have a title instead of a product.
type line struct {
	id               string
	product, variant string // ids, or ""
	title            string
	cost             *value.Amount
	quantity         int
	price            value.Amount
	discounts        []*discount
}

// billing is how an order is paid.
type billing struct {
	method    string
	address   *scenario.Address
	addressID string
	scheduled value.Stamp
}

// shipping is how an order gets to its customer.
type shipping struct {
	mode      string
	status    string
	address   *scenario.Address
	addressID string
	scheduled value.Stamp
	sent      value.Amount // shipping.amount; a fee or a pickup location takes its place
}

// The states of orders and payments (docs/commerce.md#assumptions).
const (
	pending   = "pending"
	paidState = "paid"
)

func (o *order) Key() string       { return o.id }
func (o *order) reference() string { return fmt.Sprintf("#ORDER_%d", o.number) }

// ended reports whether the order is cancelled or refunded.
func (o *order) ended() bool { return o.status == "cancelled" || o.status == "refunded" }

// due is what is not paid yet. It is negative for an order whose total is.
func (o *order) due() decimal.Decimal { return o.sums.Total.Sub(o.paid) }

func (o *order) billingStatus() string {
	if o.invoice != nil && !o.due().IsPositive() {
		return paidState
	}
	return pending
}

// orderBook is what a company has of orders.
type orderBook struct {
	orders   records.Table[*order]
	payments records.Table[*payment]
	invoices records.Table[*invoice]
	links    records.Table[*link]
	events   records.Table[*event]
	hooks    []*hook
}

// sold returns the lines as the totals need them.
func (o *order) sold() []value.Sold {
	all := make([]value.Sold, 0, len(o.lines))
	for _, l := range o.lines {
		all = append(all, value.Sold{Price: l.price.Decimal, Quantity: int64(l.quantity), Cuts: cuts(l.discounts), Rates: o.company.rates(l)})
	}
	return all
}

// rates are the taxes of a line, in percent: the taxes of its product, if product and variant are
// taxable.
func (c *company) rates(l line) []decimal.Decimal {
	product, ok := c.products.Get(l.product)
	variant, found := c.variants.Get(l.variant)
	if !ok || !product.IsTaxable || found && !on(variant.Taxable) {
		return nil
	}
	var rates []decimal.Decimal
	for _, id := range product.Taxes {
		rates = append(rates, c.taxes[id].Rate.Decimal)
	}
	return rates
}

// charge computes the sums. The shipping amount is the amount of the fee or of the pickup location,
// or else the amount sent.
func (o *order) charge() {
	amount := o.shipping.sent
	if f, ok := o.company.fees.Get(o.fee); ok {
		amount = f.Amount
	} else if l, ok := o.company.pickups.Get(o.pickup); ok {
		amount = l.Amount
	}
	o.sums = value.Total(o.sold(), cuts(o.discounts), amount.Decimal, value.Digits(o.currency))
}
