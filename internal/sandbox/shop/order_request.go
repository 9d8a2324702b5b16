package shop

import (
	"slices"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// orderRequest is the body of an order, of the storefront and of the admin route. Totals and ids
// that a client sends are ignored (docs/commerce.md#assumptions).
type orderRequest struct {
	Source           string           `json:"source"`
	DeferredPayment  bool             `json:"deferred_payment"`
	CurrencyCode     string           `json:"currency_code"`
	Currency         string           `json:"currency"`   // of an admin order
	CreatedAt        value.Stamp      `json:"created_at"` // of an admin order
	ExpiresAt        value.Stamp      `json:"expires_at"`
	Customer         *customerRequest `json:"customer"`
	Products         []lineRequest    `json:"products"`
	Billing          billingRequest   `json:"billing"`
	Shipping         shippingRequest  `json:"shipping"`
	ShippingFeeID    *string          `json:"shipping_fee_id"`
	PickupLocationID *string          `json:"pickup_location_id"`
	Discounts        []namedDiscount  `json:"discounts"`
	Metadata         value.Object     `json:"metadata"`
	Authenticate     bool             `json:"authenticate"`
}

// customerRequest is the customer of an order. Force creates one even if the e-mail address or the
// phone number exists; false makes that an error; without it the existing customer is used.
type customerRequest struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	Force     *bool  `json:"force"`
}

// lineRequest is a line: of a product, or on the admin route of a title.
type lineRequest struct {
	ProductID string          `json:"product_id"`
	VariantID string          `json:"variant_id"`
	Title     string          `json:"title"`
	Cost      *value.Amount   `json:"cost"`
	Quantity  int             `json:"quantity"`
	Price     *value.Amount   `json:"price"`
	Discounts []namedDiscount `json:"discounts"`
}

// namedDiscount names a discount by its id or by its code.
type namedDiscount struct {
	DiscountID string `json:"discount_id"`
	Code       string `json:"code"`
}

type billingRequest struct {
	Method      string            `json:"method"`
	AddressID   string            `json:"address_id"`
	Address     *scenario.Address `json:"address"`
	ScheduledAt value.Stamp       `json:"scheduled_at"`
}

type shippingRequest struct {
	Mode        string            `json:"mode"`
	Status      string            `json:"status"`
	ScheduledAt value.Stamp       `json:"scheduled_at"`
	Amount      value.Amount      `json:"amount"`
	AddressID   string            `json:"address_id"`
	Address     *scenario.Address `json:"address"`
	IsNew       bool              `json:"is_new"`
}

// request is the body that would make the order as it is. An update decodes its body onto it, so
// that absent members stay.
func (o *order) request() orderRequest {
	in := orderRequest{
		Source: o.source, CurrencyCode: o.currency, ExpiresAt: o.expires, Discounts: nameDiscounts(o.discounts), Metadata: o.metadata,
		ShippingFeeID: maybe(o.fee), PickupLocationID: maybe(o.pickup),
		Billing: billingRequest{o.billing.method, o.billing.addressID, o.billing.address, o.billing.scheduled},
		Shipping: shippingRequest{o.shipping.mode, o.shipping.status, o.shipping.scheduled, o.shipping.sent, o.shipping.addressID,
			nil, false},
	}
	for _, l := range o.lines {
		price := l.price
		in.Products = append(in.Products, lineRequest{l.product, l.variant, l.title, l.cost, l.quantity, &price, nameDiscounts(l.discounts)})
	}
	return in
}

func maybe(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

func nameDiscounts(of []*discount) []namedDiscount {
	all := make([]namedDiscount, 0, len(of))
	for _, d := range of {
		all = append(all, namedDiscount{DiscountID: d.ID})
	}
	return all
}

// changed is the request with the members of the body in place of its own. Lists and metadata are
// replaced whole. A new fee takes the place of a pickup location and the other way round.
func (in orderRequest) changed(body patch) (orderRequest, error) {
	next := in
	next.Products, next.Discounts, next.Metadata = nil, nil, nil
	next.Billing.Address, next.Shipping.Address = nil, nil
	next.ShippingFeeID, next.PickupLocationID = nil, nil
	if err := body.onto(&next); err != nil {
		return next, err
	}
	if next.Products == nil {
		next.Products = slices.Clone(in.Products)
	}
	if next.Discounts == nil {
		next.Discounts = in.Discounts
	}
	if next.Metadata == nil {
		next.Metadata = in.Metadata
	}
	if next.Billing.Address == nil {
		next.Billing.Address = in.Billing.Address
	}
	if next.ShippingFeeID == nil && next.PickupLocationID == nil {
		next.ShippingFeeID, next.PickupLocationID = in.ShippingFeeID, in.PickupLocationID
		if next.Shipping.Mode == pickupMode {
			next.ShippingFeeID = nil
		} else {
			next.PickupLocationID = nil
		}
	}
	if next.Shipping.Address != nil && next.Shipping.AddressID == in.Shipping.AddressID {
		next.Shipping.AddressID = "" // a new address, not a change of the one that was used
	}
	return next, nil
}
