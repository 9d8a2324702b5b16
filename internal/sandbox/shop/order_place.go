package shop

import (
	"reflect"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// orderAnswer is the answer of a route that makes or changes an order.
type orderAnswer struct {
	Data        orderView     `json:"data"`
	PaymentLink *string       `json:"payment_link"`
	Token       string        `json:"token,omitempty"`
	Customer    *customerView `json:"customer,omitempty"`
}

// createOrder is POST /customers/orders.
func (p *Platform) createOrder(c *call, in orderRequest) (orderAnswer, error) {
	o, err := p.place(c, in)
	if err != nil {
		return orderAnswer{}, err
	}
	out := orderAnswer{}
	if !in.DeferredPayment {
		out.PaymentLink = p.linkOf(c, o)
	}
	out.Data = o.view()
	if in.Authenticate {
		who, _ := c.company.customers.Get(o.customer)
		in, err := p.enter(c, who)
		if err != nil {
			return orderAnswer{}, err
		}
		out.Token, out.Customer = in.Token, &in.Customer
	}
	return out, nil
}

// createAdminOrder is POST /admin/orders.
func (p *Platform) createAdminOrder(c *call, in orderRequest) (orderView, error) {
	o, err := p.place(c, in)
	if err != nil {
		return orderView{}, err
	}
	return o.view(), nil
}

// place makes an order. Everything is checked before anything is changed.
func (p *Platform) place(c *call, in orderRequest) (*order, error) {
	// A new order stores at most its own record, a customer, an address, a link, a token and an
	// event, besides one event for each line whose stock changes.
	if err := p.room.Has(6 + len(in.Products)); err != nil {
		return nil, err
	}
	o := &order{company: c.company, status: pending, created: c.now, updated: c.now}
	if c.shop != nil {
		o.shop = c.shop.ID
	}
	if c.route.right == admin {
		o.created = in.CreatedAt.Or(c.now)
	}
	f := &filling{c: c, o: o}
	who, fresh := f.buyer(in.Customer)
	id := ""
	if who != nil {
		id = who.ID
	}
	if err := f.fill(in, id); err != nil {
		return nil, err
	}
	o.taken = c.company.take(o.lines, c.shop, &f.flaws)
	if err := f.err(); err != nil {
		return nil, err
	}
	var err error
	if who == nil {
		if who, err = p.addCustomer(c.company, fresh, c.now); err != nil {
			giveBack(o.taken)
			return nil, err
		}
	}
	o.id, o.customer, o.number = p.newID(), who.ID, c.company.orders.Len()+1
	if err := p.ship(c, o, who, in.Shipping.IsNew); err != nil {
		giveBack(o.taken)
		return nil, err
	}
	p.settle(o)
	if err := c.company.orders.Add(&p.room, o); err != nil {
		giveBack(o.taken)
		return nil, err
	}
	p.emit(c.company, "order.created", o.view())
	p.emitStock(c.company, o.taken)
	return o, nil
}

// settle names the new lines and computes the sums.
func (p *Platform) settle(o *order) {
	for i := range o.lines {
		if o.lines[i].id == "" {
			o.lines[i].id = p.newID()
		}
	}
	o.charge()
}

// buyer finds the customer of a new order, or says who is to be made. Both are zero if there is a
// flaw. With a customer token it is the token's customer.
func (f *filling) buyer(in *customerRequest) (*customer, scenario.Customer) {
	if f.c.customer != nil {
		return f.c.customer, scenario.Customer{}
	}
	if in == nil {
		in = &customerRequest{}
	}
	if in.Email == "" && in.Phone == "" {
		f.add("customer.email", "The email is required when the phone is absent.")
		f.add("customer.phone", "The phone is required when the email is absent.")
		return nil, scenario.Customer{}
	}
	fresh := scenario.Customer{FirstName: in.FirstName, LastName: in.LastName, Email: in.Email, Phone: in.Phone}
	if in.Force != nil && *in.Force {
		return nil, fresh
	}
	known := f.c.company.holder(in.Email, in.Phone)
	if known != nil && in.Force != nil {
		field := "customer.email"
		if f.c.company.holder(in.Email, "") == nil {
			field = "customer.phone"
		}
		f.add(field, "A customer has it already.")
	}
	return known, fresh
}

// ship stores the address of a delivery. An existing address of the customer that is the same is
// used, unless it is said to be new; one that is named with an address is overwritten
// (docs/commerce.md#assumptions).
func (p *Platform) ship(c *call, o *order, who *customer, isNew bool) error {
	given := o.shipping.address
	if given == nil || o.shipping.mode == pickupMode {
		return nil
	}
	to := *given
	to.IsShipping, to.IsBilling = true, false
	to.IsPrimary = to.FirstName == "" && to.LastName == ""
	if known, ok := c.company.addresses.Get(o.shipping.addressID); ok {
		if !sameAddress(known.Address, to) {
			known.Address, known.updated = to, c.now
			known.settle()
		}
		o.shipping.address = &to
		return nil
	}
	if !isNew && c.customer != nil {
		for _, known := range who.addresses() {
			if sameAddress(known.Address, to) {
				shown := known.Address
				o.shipping.address, o.shipping.addressID = &shown, known.id
				return nil
			}
		}
	}
	made, err := who.addAddress(p, to, c.now)
	if err != nil {
		return err
	}
	o.shipping.address, o.shipping.addressID = &to, made.id
	return nil
}

// sameAddress reports whether two addresses name the same place and person.
func sameAddress(a, b scenario.Address) bool {
	for _, x := range []*scenario.Address{&a, &b} {
		x.IsBilling, x.IsShipping, x.IsPrimary, x.Label, x.Metadata = false, false, false, "", nil
		x.Latitude, x.Longitude = value.Coordinate{}, value.Coordinate{}
	}
	return reflect.DeepEqual(a, b)
}

// updateOrder is PUT /customers/orders/{order}: the same checks as for a new one.
func (p *Platform) updateOrder(c *call, body patch) (orderAnswer, error) {
	old, ok := c.company.orders.Get(c.path("order"))
	if !ok || old.customer != c.customer.ID {
		return orderAnswer{}, missing(c, "order", c.path("order"))
	}
	if old.ended() {
		return orderAnswer{}, endedOrder(old)
	}
	in, err := old.request().changed(body)
	if err != nil {
		return orderAnswer{}, err
	}
	if err := p.room.Has(6 + len(in.Products) + len(old.lines)); err != nil {
		return orderAnswer{}, err
	}
	next := *old
	next.updated = c.now
	f := &filling{c: c, o: &next, before: old}
	if err := f.fill(in, old.customer); err != nil {
		return orderAnswer{}, err
	}
	giveBack(old.taken)
	from, _ := c.company.shops.Get(old.shop)
	next.taken = c.company.take(next.lines, from, &f.flaws)
	for i := range min(len(next.lines), len(old.lines)) {
		if next.lines[i].variant == old.lines[i].variant {
			next.lines[i].id = old.lines[i].id
		}
	}
	p.settle(&next)
	if next.due().IsNegative() && next.paid.IsPositive() {
		f.add("products", "The order would cost less than what is paid.")
	}
	err = f.err()
	if err == nil {
		err = p.ship(c, &next, c.customer, in.Shipping.IsNew)
	}
	if err == nil {
		err = c.company.orders.Keep(&p.room, old)
	}
	if err != nil {
		giveBack(next.taken)
		takeAgain(old.taken)
		return orderAnswer{}, err
	}
	changed := append(next.taken[:len(next.taken):len(next.taken)], old.taken...)
	*old = next
	if old.invoice != nil {
		old.invoice.amount, old.invoice.updated = value.Amount{Decimal: old.sums.Total}, c.now
	}
	p.emit(c.company, "order.updated", old.view())
	p.emitStock(c.company, changed)
	out := orderAnswer{}
	if !in.DeferredPayment {
		out.PaymentLink = p.linkOf(c, old)
	}
	out.Data = old.view()
	return out, nil
}

// endedOrder is the 422 of an order that is cancelled or refunded.
func endedOrder(o *order) error { return invalid("order", "The order is "+o.status+".") }
