package shop

import (
	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// orderView is the order of the document. Members that the sandbox never fills are null or empty.
type orderView struct {
	ID              string         `json:"id"`
	Reference       string         `json:"reference"`
	Amount          value.Amount   `json:"amount"`
	AmountDue       value.Amount   `json:"amount_due"`
	Currency        string         `json:"currency"`
	Status          string         `json:"status"`
	State           int            `json:"state"`
	Source          value.Text     `json:"source"`
	CreatedAt       value.Stamp    `json:"created_at"`
	UpdatedAt       value.Stamp    `json:"updated_at"`
	DeletedAt       value.Stamp    `json:"deleted_at"`
	DueAt           value.Stamp    `json:"due_at"`
	ExpiresAt       value.Stamp    `json:"expires_at"`
	CompanyID       string         `json:"company_id"`
	ShopID          value.Text     `json:"shop_id"`
	UserID          value.Text     `json:"user_id"`
	CustomerID      string         `json:"customer_id"`
	CreditCode      value.Text     `json:"credit_code"`
	DebitCode       value.Text     `json:"debit_code"`
	RevenueType     value.Text     `json:"revenue_type"`
	InvoicesCount   int            `json:"invoices_count"`
	ReturnsCount    int            `json:"returns_count"`
	Signature       value.Text     `json:"signature"`
	CalendarEventID value.Text     `json:"calendar_event_id"`
	CustomFields    []any          `json:"custom_fields"`
	Metadata        value.Object   `json:"metadata"`
	Medias          []any          `json:"medias"`
	PrivateMedias   []any          `json:"private_medias"`
	Bills           []any          `json:"bills"`
	Deliveries      []any          `json:"deliveries"`
	Delivery        any            `json:"delivery"`
	OrderProducts   []lineView     `json:"order_products"`
	Products        []soldProduct  `json:"products"`
	ShippingFee     *feeView       `json:"shipping_fee"`
	ShippingFeeID   value.Text     `json:"shipping_fee_id"`
	PickupLocation  *pickupView    `json:"pickup_location"`
	PickupID        value.Text     `json:"pickup_location_id"`
	Company         companyRef     `json:"company"`
	Payments        []paymentView  `json:"payments"`
	Discounts       []discountView `json:"discounts"`
	Billing         billingView    `json:"billing"`
	Shipping        shippingView   `json:"shipping"`
	Customer        *customerView  `json:"customer,omitempty"` // with include=customer
}

// lineView is a line of an order.
type lineView struct {
	ID        string         `json:"id"`
	OrderID   string         `json:"order_id"`
	ProductID value.Text     `json:"product_id"`
	VariantID value.Text     `json:"variant_id"`
	ServiceID value.Text     `json:"service_id"`
	Price     value.Amount   `json:"price"`
	Quantity  int            `json:"quantity"`
	Metadata  value.Object   `json:"metadata"`
	Discounts []discountView `json:"discounts"`
}

// soldProduct is a product of an order with what was bought of it.
type soldProduct struct {
	productView
	Pivot   pivot       `json:"pivot"`
	Variant variantView `json:"variant"`
}

// pivot is the line of a product.
type pivot struct {
	OrderID   string       `json:"order_id"`
	ProductID string       `json:"product_id"`
	VariantID string       `json:"variant_id"`
	Price     value.Amount `json:"price"`
	Quantity  int          `json:"quantity"`
}

// companyRef is the company inside another record.
type companyRef struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Handle string     `json:"handle"`
	Code   value.Text `json:"company_code"`
}

func (c *company) ref() companyRef {
	return companyRef{c.ID, c.Name, c.Handle, value.Text(c.CompanyCode)}
}

// billingView is how an order is paid, with its sums.
type billingView struct {
	Method        value.Text        `json:"method"`
	Status        string            `json:"status"`
	Address       *scenario.Address `json:"address"`
	AddressID     value.Text        `json:"address_id"`
	Amount        value.Amount      `json:"amount"`
	Subtotal      value.Amount      `json:"subtotal"`
	Discount      value.Amount      `json:"discount"`
	LineDiscounts value.Amount      `json:"line_discounts_total"`
	OrderDiscount value.Amount      `json:"order_discounts_total"`
	OutOfTax      value.Amount      `json:"out_of_tax_total"`
	PositiveTaxes value.Amount      `json:"sum_positive_taxes"`
	NegativeTaxes value.Amount      `json:"sum_negative_taxes"`
	Shipping      value.Amount      `json:"shipping"`
	Total         value.Amount      `json:"total"`
	NetToPay      value.Amount      `json:"net_to_pay"`
	ScheduledAt   value.Stamp       `json:"scheduled_at"`
	Treasury      *treasuryView     `json:"treasury_account"`
	TreasuryID    value.Text        `json:"treasury_account_id"`
	TreasuryLabel value.Text        `json:"treasury_account_label"`
}

// shippingView is how an order gets to its customer.
type shippingView struct {
	Mode        string            `json:"mode"`
	Status      string            `json:"status"`
	Amount      value.Amount      `json:"amount"`
	ScheduledAt value.Stamp       `json:"scheduled_at"`
	Address     *scenario.Address `json:"address"`
	AddressID   value.Text        `json:"address_id"`
}

func (o *order) view() orderView {
	v := orderView{
		ID: o.id, Reference: o.reference(), Amount: value.Amount{Decimal: o.sums.Total}, AmountDue: value.Amount{Decimal: o.due()},
		Currency: o.currency, Status: o.status, State: 1, Source: value.Text(o.source), CreatedAt: o.created, UpdatedAt: o.updated,
		ExpiresAt: o.expires,
		CompanyID: o.company.ID, ShopID: value.Text(o.shop), CustomerID: o.customer, CustomFields: none, Metadata: o.metadata, Medias: none,
		PrivateMedias: none, Bills: none, Deliveries: none, OrderProducts: []lineView{}, Products: []soldProduct{},
		ShippingFeeID: value.Text(o.fee), PickupID: value.Text(o.pickup), Company: o.company.ref(), Payments: []paymentView{},
		Discounts: viewDiscounts(o.discounts), Billing: o.viewBilling(),
		Shipping: shippingView{o.shipping.mode, o.shipping.status, value.Amount{Decimal: o.sums.Shipping}, o.shipping.scheduled,
			o.shipping.address, value.Text(o.shipping.addressID)},
	}
	if o.invoice != nil {
		v.InvoicesCount = 1
	}
	if f, ok := o.company.fees.Get(o.fee); ok {
		shown := f.view()
		v.ShippingFee = &shown
	}
	if l, ok := o.company.pickups.Get(o.pickup); ok {
		shown := l.view()
		v.PickupLocation = &shown
	}
	for _, l := range o.lines {
		v.OrderProducts = append(v.OrderProducts, l.view(o))
		product, sold := o.company.products.Get(l.product)
		variant, ok := o.company.variants.Get(l.variant)
		if sold && ok {
			v.Products = append(v.Products, soldProduct{product.view(nil),
				pivot{o.id, l.product, l.variant, l.price, l.quantity}, variant.view(false, false)})
		}
	}
	for _, one := range o.payments {
		v.Payments = append(v.Payments, one.view(nil))
	}
	return v
}

func (l line) view(o *order) lineView {
	v := lineView{ID: l.id, OrderID: o.id, ProductID: value.Text(l.product), VariantID: value.Text(l.variant), Price: l.price,
		Quantity: l.quantity, Discounts: viewDiscounts(l.discounts)}
	if l.title != "" {
		v.Metadata = value.Object{"title": l.title}
		if l.cost != nil {
			v.Metadata["cost"] = *l.cost
		}
	}
	return v
}

func (o *order) viewBilling() billingView {
	s := o.sums
	v := billingView{
		Method: value.Text(o.billing.method), Status: o.billingStatus(), Address: o.billing.address, AddressID: value.Text(o.billing.addressID),
		Amount: value.Amount{Decimal: s.Total}, Subtotal: value.Amount{Decimal: s.Subtotal},
		Discount: value.Amount{Decimal: s.LineDiscounts.Add(s.OrderDiscounts)}, LineDiscounts: value.Amount{Decimal: s.LineDiscounts},
		OrderDiscount: value.Amount{Decimal: s.OrderDiscounts}, OutOfTax: value.Amount{Decimal: s.OutOfTax},
		PositiveTaxes: value.Amount{Decimal: s.PositiveTaxes}, NegativeTaxes: value.Amount{Decimal: s.NegativeTaxes},
		Shipping: value.Amount{Decimal: s.Shipping}, Total: value.Amount{Decimal: s.Total}, NetToPay: value.Amount{Decimal: s.Total},
		ScheduledAt: o.billing.scheduled,
	}
	if m := o.company.methodOf(o.billing.method); m != nil {
		if a, ok := o.company.treasury.Get(m.TreasuryAccount); ok {
			shown := a.view()
			v.Treasury, v.TreasuryID, v.TreasuryLabel = &shown, value.Text(a.ID), value.Text(a.Label)
		}
	}
	return v
}

// methodOf is the payment method of a processor that can be used, or nil.
func (c *company) methodOf(processor string) *method {
	for m := range c.methods.All() {
		if processor != "" && m.Processor == processor && on(m.Status) {
			return m
		}
	}
	return nil
}

// showOrder is GET /customers/orders/{orderId}.
func (p *Platform) showOrder(c *call) (single[orderView], error) {
	o, ok := c.company.orders.Get(c.path("orderId"))
	if !ok {
		return single[orderView]{}, missing(c, "order", c.path("orderId"))
	}
	return single[orderView]{o.view()}, nil
}

var orderList = records.List[*order]{
	Filters: map[string]records.Filter[*order]{
		"search": records.Searching(func(o *order) []string {
			who, _ := o.company.customers.Get(o.customer)
			if who == nil {
				return []string{o.reference()}
			}
			return []string{o.reference(), who.FirstName + " " + who.LastName, who.Email, who.Phone}
		}),
		"status":      records.Equal(func(o *order) string { return o.status }),
		"customer_id": records.Equal(func(o *order) string { return o.customer }),
		"shop":        records.Equal(func(o *order) string { return o.shop }),
		"created_at":  records.Between(func(o *order) value.Stamp { return o.created }),
		"updated_at":  records.Between(func(o *order) value.Stamp { return o.updated }),
	},
	Sorts: map[string]func(a, b *order) int{
		records.Birth: records.ByTime(func(o *order) value.Stamp { return o.created }),
		"updated_at":  records.ByTime(func(o *order) value.Stamp { return o.updated }),
	},
	Includes: []string{"customer"},
	View: func(o *order, in records.Includes) any {
		v := o.view()
		if who, ok := o.company.customers.Get(o.customer); ok && in.Has("customer") {
			shown := who.view()
			v.Customer = &shown
		}
		return v
	},
}

// listMyOrders is GET /customers/orders: the orders of the customer token.
func (p *Platform) listMyOrders(c *call) (records.Page, error) {
	return orderList.Page(c.asked(), records.Where(&c.company.orders, func(o *order) bool { return o.customer == c.customer.ID }))
}

// listOrders is GET /admin/orders (docs/commerce.md#assumptions).
func (p *Platform) listOrders(c *call) (records.Page, error) {
	return orderList.Page(c.asked(), &c.company.orders)
}
