package shop

import "time"

// order is an order of a customer.
type order struct {
	id       string
	company  *company
	customer string
	shop     string
	fee      string
	status   string
	lines    []line
	created  Stamp
	updated  Stamp
}

// line is a product of an order.
type line struct {
	product, variant string
	quantity         int
	price            Amount
}

func (o *order) key() string     { return o.id }
func (o *order) born() time.Time { return o.created.Time }

// ended reports whether the order is cancelled or refunded.
func (o *order) ended() bool { return o.status == "cancelled" || o.status == "refunded" }
