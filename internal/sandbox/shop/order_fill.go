package shop

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"campaignd/internal/sandbox/shop/scenario"
)

// The most that one order may have. The document shows no limits; these keep its sums small.
const (
	maxLines     = 1000
	maxQuantity  = 1_000_000
	maxDiscounts = 100
)

// The modes of shipping that the document shows.
const (
	deliveryMode = "delivery"
	pickupMode   = "pickup"
	postalMode   = "postal"
	otherMode    = "other"
)

var (
	shippingModes = []string{deliveryMode, pickupMode, postalMode, "online", otherMode}
)

// filling checks a request and fills an order with it. It changes nothing else.
type filling struct {
	c *call
	o *order
	flaws
	before *order // of an update, else nil
}

// fill fills the order with the request. customer is the order's, or "" for a new one. The error is
// the 422 with all flaws, or the 400 of an address.
func (f *filling) fill(in orderRequest, customer string) error {
	o := f.o
	o.source, o.metadata, o.expires = in.Source, in.Metadata, in.ExpiresAt
	f.currency(in)
	f.lines(in.Products, customer)
	o.discounts = f.discounts("discounts", in.Discounts, "order", customer)
	f.delivery(in)
	f.bill(in.Billing, customer)
	if err := f.address(in.Shipping, customer); err != nil {
		return err
	}
	return f.err()
}

// currency resolves the currency: request, shop, company, then XAF.
func (f *filling) currency(in orderRequest) {
	choices := []string{in.CurrencyCode}
	if f.c.route.right == admin {
		choices = append(choices, in.Currency)
	}
	if s, ok := f.c.company.shops.Get(f.o.shop); ok {
		choices = append(choices, s.Currency)
	}
	choices = append(choices, f.c.company.Company.Currency, "XAF")
	i := slices.IndexFunc(choices, func(code string) bool { return code != "" })
	f.o.currency = choices[i]
	if !scenario.IsCurrency(f.o.currency) {
		f.add("currency_code", "The currency is a code of three letters, such as EUR.")
	}
}

func (f *filling) lines(in []lineRequest, customer string) {
	switch {
	case len(in) == 0:
		f.add("products", "The products field is required.")
	case len(in) > maxLines:
		f.add("products", fmt.Sprintf("An order has at most %d products.", maxLines))
		return
	}
	f.o.lines = make([]line, 0, len(in))
	for i, r := range in {
		f.o.lines = append(f.o.lines, f.line("products."+strconv.Itoa(i)+".", r, customer))
	}
}

// line reads a line. at is its place, which ends with a point.
func (f *filling) line(at string, in lineRequest, customer string) line {
	l := line{title: in.Title, cost: in.Cost, quantity: in.Quantity}
	if in.ProductID == "" && in.VariantID == "" && f.mayName(in.Title) {
		f.require(at+"title", in.Title)
		if in.Price == nil {
			f.add(at+"price", "The price is required.")
		}
	} else {
		f.goods(at, in, &l)
	}
	if in.Price != nil {
		l.price = *in.Price
	}
	switch {
	case l.price.IsNegative():
		f.add(at+"price", "The price is 0 or more.")
	case !l.price.Fits(f.o.currency):
		f.add(at+"price", "The price "+l.price.String()+" has more decimals than "+f.o.currency+" has.")
	}
	if l.cost != nil && l.cost.IsNegative() {
		f.add(at+"cost", "The cost is 0 or more.")
	}
	if in.Quantity < 1 || in.Quantity > maxQuantity {
		f.add(at+"quantity", fmt.Sprintf("The quantity is from 1 to %d.", maxQuantity))
	}
	l.discounts = f.discounts(at+"discounts", in.Discounts, "product", customer)
	return l
}

// mayName reports whether a line may have a title instead of a product: on the admin route, and
// where the order has that line already.
func (f *filling) mayName(title string) bool {
	return f.c.route.right == admin || f.before != nil &&
		slices.ContainsFunc(f.before.lines, func(l line) bool { return l.product == "" && l.title == title })
}

// goods finds the product and the variant of a line. A product with one variant needs no
// variant_id.
func (f *filling) goods(at string, in lineRequest, l *line) {
	product, ok := f.c.company.products.Get(in.ProductID)
	hidden := ok && f.c.route.right != admin && !on(product.Published)
	if s, inShop := f.c.company.shops.Get(f.o.shop); !ok || hidden || inShop && !product.sells(s) {
		f.add(at+"product_id", "The product is not sold here.")
		return
	}
	l.product = product.ID
	switch variant, ok := f.c.company.variants.Get(in.VariantID); {
	case in.VariantID == "" && len(product.variants) == 1:
		l.variant, l.price = product.variants[0].ID, product.variants[0].Price
	case !ok || variant.product != product:
		f.add(at+"variant_id", "The product has no such variant.")
	default:
		l.variant, l.price = variant.ID, variant.Price
	}
}

// discounts finds discounts of a level. One that the order had before may stay.
func (f *filling) discounts(at string, in []namedDiscount, level, customer string) []*discount {
	if len(in) > maxDiscounts {
		f.add(at, fmt.Sprintf("At most %d discounts apply.", maxDiscounts))
		return nil
	}
	customer = cmp.Or(customer, "new") // may use only what everybody may
	all := make([]*discount, 0, len(in))
	for i, r := range in {
		d, field := f.c.company.byCode(r.Code), "code"
		if r.DiscountID != "" {
			named, _ := f.c.company.discounts.Get(r.DiscountID)
			if r.Code == "" || named == d {
				d = named
			} else {
				d = nil
			}
			field = "discount_id"
		}
		field = at + "." + strconv.Itoa(i) + "." + field
		switch {
		case d == nil || !f.had(d) && !d.usable(f.c.now, customer):
			f.add(field, "The discount cannot be used.")
		case d.Level != level:
			f.add(field, "The discount is for an "+map[string]string{"order": "order", "product": "order's line"}[d.Level]+".")
		case slices.Contains(all, d):
			f.add(field, "The discount is named twice.")
		default:
			all = append(all, d)
		}
	}
	return all
}

// had reports whether the order had the discount before its update.
func (f *filling) had(d *discount) bool {
	if f.before == nil {
		return false
	}
	return slices.Contains(f.before.discounts, d) ||
		slices.ContainsFunc(f.before.lines, func(l line) bool { return slices.Contains(l.discounts, d) })
}

// delivery reads mode, amount, fee and pickup location.
func (f *filling) delivery(in orderRequest) {
	o := f.o
	o.shipping = shipping{mode: in.Shipping.Mode, status: in.Shipping.Status, scheduled: in.Shipping.ScheduledAt, sent: in.Shipping.Amount}
	o.shipping.status = cmp.Or(o.shipping.status, pending)
	o.fee, o.pickup = "", ""
	if in.ShippingFeeID != nil {
		o.fee = *in.ShippingFeeID
	}
	if in.PickupLocationID != nil {
		o.pickup = *in.PickupLocationID
	}
	if o.shipping.mode == "" {
		switch {
		case o.pickup != "":
			o.shipping.mode = pickupMode
		case o.fee != "" || in.Shipping.Address != nil || in.Shipping.AddressID != "":
			o.shipping.mode = deliveryMode
		default:
			o.shipping.mode = otherMode
		}
	}
	switch {
	case !slices.Contains(shippingModes, o.shipping.mode):
		f.add("shipping.mode", "The mode is delivery, pickup, postal, online or other.")
	case o.fee != "" && (o.pickup != "" || o.shipping.mode == pickupMode):
		f.add("shipping_fee_id", "A shipping fee excludes pickup.")
	case o.pickup != "" && o.shipping.mode != pickupMode:
		f.add("pickup_location_id", "A pickup location needs the mode pickup.")
	case o.pickup == "" && o.shipping.mode == pickupMode:
		f.add("pickup_location_id", "The pickup location is required.")
	default:
		f.fees()
	}
	if o.shipping.sent.IsNegative() || !o.shipping.sent.Fits(o.currency) {
		f.add("shipping.amount", "The amount is 0 or more, with no more decimals than the currency has.")
	}
}

// fees checks the fee and the pickup location.
func (f *filling) fees() {
	s, _ := f.c.company.shops.Get(f.o.shop)
	check := func(field string, found *fee) {
		switch {
		case found == nil || !on(found.Active) || !found.applies(s):
			f.add(field, "It is not offered here.")
		case !found.Amount.Fits(f.o.currency):
			f.add(field, "Its amount "+found.Amount.String()+" has more decimals than "+f.o.currency+" has.")
		}
	}
	if f.o.fee != "" {
		found, _ := f.c.company.fees.Get(f.o.fee)
		check("shipping_fee_id", found)
	}
	if f.o.pickup != "" {
		found, ok := f.c.company.pickups.Get(f.o.pickup)
		if !ok {
			found = &pickup{}
		}
		check("pickup_location_id", found.fee)
	}
}

// bill reads billing. The method need not be configured.
func (f *filling) bill(in billingRequest, customer string) {
	f.o.billing = billing{method: in.Method, address: in.Address, addressID: in.AddressID, scheduled: in.ScheduledAt}
	if in.AddressID == "" {
		return
	}
	a, ok := f.c.company.addresses.Get(in.AddressID)
	if !ok || a.owner.ID != customer {
		f.add("billing.address_id", "The customer has no such address.")
		return
	}
	if in.Address == nil {
		shown := a.Address
		f.o.billing.address = &shown
	}
}

// address checks the address of a delivery. Delivery and postal need one; no mode but pickup takes
// an incomplete one (docs/commerce.md#assumptions).
func (f *filling) address(in shippingRequest, customer string) error {
	o := f.o
	if o.shipping.mode == pickupMode {
		return nil
	}
	o.shipping.address, o.shipping.addressID = in.Address, in.AddressID
	if in.AddressID != "" {
		a, ok := f.c.company.addresses.Get(in.AddressID)
		switch {
		case !ok || a.owner.ID != customer:
			f.add("shipping.address_id", "The customer has no such address.")
			return nil
		case in.Address == nil:
			shown := a.Address
			o.shipping.address = &shown
		}
	}
	a := o.shipping.address
	needed := o.shipping.mode == deliveryMode || o.shipping.mode == postalMode
	if a == nil && needed || a != nil && (a.Line1 == "" || a.City == "" || a.Country == "") {
		return say(http.StatusBadRequest, "shipping.address needs line1, city and country")
	}
	return nil
}
