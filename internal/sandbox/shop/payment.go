package shop

import (
	"fmt"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/value"
)

// payment is money that came in for an order.
type payment struct {
	id      string
	number  int
	order   *order
	amount  value.Amount
	method  string
	account *treasuryAccount // nil: none
	at      value.Stamp
}

func (m *payment) Key() string { return m.id }

// invoice is what the payments of an order pay. The first payment makes it.
type invoice struct {
	id               string
	number           int
	order            *order
	amount           value.Amount
	created, updated value.Stamp
}

func (i *invoice) Key() string { return i.id }

// invoiceView is the invoice of the document.
type invoiceView struct {
	ID           string       `json:"id"`
	Reference    string       `json:"reference"`
	Amount       value.Amount `json:"amount"`
	CurrencyCode string       `json:"currency_code"`
	OrderID      string       `json:"order_id"`
	ShopID       value.Text   `json:"shop_id"`
	Status       string       `json:"status"`
	IsDeposit    bool         `json:"is_deposit"`
	IsFinal      bool         `json:"is_final"`
	Medias       []any        `json:"medias"`
	Metadata     value.Object `json:"metadata"`
	UserID       value.Text   `json:"user_id"`
	CompanyID    string       `json:"company_id"`
	CreatedAt    value.Stamp  `json:"created_at"`
	UpdatedAt    value.Stamp  `json:"updated_at"`
}

func (i *invoice) view() invoiceView {
	o := i.order
	return invoiceView{
		ID: i.id, Reference: fmt.Sprintf("#INV_%d", i.number), Amount: i.amount, CurrencyCode: o.currency, OrderID: o.id,
		ShopID: value.Text(o.shop), Status: o.billingStatus(), IsFinal: true, Medias: none, CompanyID: o.company.ID,
		CreatedAt: i.created, UpdatedAt: i.updated,
	}
}

// paymentView is the payment of the document.
type paymentView struct {
	ID           string        `json:"id"`
	Reference    string        `json:"reference"`
	Amount       value.Amount  `json:"amount"`
	CurrencyCode string        `json:"currency_code"`
	Method       string        `json:"method"`
	Status       string        `json:"status"`
	Type         string        `json:"type"`
	PaidAt       value.Stamp   `json:"paid_at"`
	DueDate      value.Stamp   `json:"due_date"`
	Metadata     value.Object  `json:"metadata"`
	Payable      invoiceView   `json:"payable"`
	PayableID    string        `json:"payable_id"`
	PayableType  string        `json:"payable_type"`
	Treasury     *treasuryView `json:"treasury_account"`
	TreasuryToo  any           `json:"treasuryAccount,omitempty"` // a *treasuryView with include=treasuryAccount, else nil
	TreasuryID   value.Text    `json:"treasury_account_id"`
	Company      companyRef    `json:"company"`
	CompanyID    string        `json:"company_id"`
	AddressID    value.Text    `json:"address_id"`
	UserID       value.Text    `json:"user_id"`
	CreatedAt    value.Stamp   `json:"created_at"`
	UpdatedAt    value.Stamp   `json:"updated_at"`
	DeletedAt    value.Stamp   `json:"deleted_at"`
}

func (m *payment) reference() string { return fmt.Sprintf("PAY_%d", m.number) }

func (m *payment) view(in records.Includes) paymentView {
	o := m.order
	v := paymentView{
		ID: m.id, Reference: m.reference(), Amount: m.amount, CurrencyCode: o.currency, Method: m.method, Status: paidState,
		Type: "inbound", PaidAt: m.at, Metadata: value.Object{"distributed_payment": false, "order_id": o.id}, Payable: o.invoice.view(),
		PayableID: o.invoice.id, PayableType: "invoice", Company: o.company.ref(), CompanyID: o.company.ID,
		AddressID: value.Text(o.billing.addressID), CreatedAt: m.at, UpdatedAt: m.at,
	}
	if m.account != nil {
		shown := m.account.view()
		v.Treasury, v.TreasuryID = &shown, value.Text(m.account.ID)
	}
	if in.Has("treasuryAccount") {
		v.TreasuryToo = v.Treasury // a nil pointer is not omitted, but null
	}
	return v
}

// paymentRequest is the body of a payment that the business adds.
type paymentRequest struct {
	Amount            value.Amount `json:"amount"`
	Method            string       `json:"method"`
	TreasuryAccountID string       `json:"treasury_account_id"`
}

// paymentAnswer is the answer to a payment that was added.
type paymentAnswer struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
}

// addPayment is POST /admin/orders/{id}/payments.
func (p *Platform) addPayment(c *call, in paymentRequest) (paymentAnswer, error) {
	o, ok := c.company.orders.Get(c.path("id"))
	switch {
	case !ok:
		return paymentAnswer{}, missing(c, "order", c.path("id"))
	case o.ended():
		return paymentAnswer{}, endedOrder(o)
	case !o.due().IsPositive():
		return paymentAnswer{}, nothingDue()
	}
	var f flaws
	f.payment("amount", in.Amount, o)
	account, ok := c.company.treasury.Get(in.TreasuryAccountID)
	if !ok {
		f.add("treasury_account_id", "The company has no such treasury account.")
	} else if in.Method == "" {
		in.Method = account.Type
	}
	if err := f.err(); err != nil {
		return paymentAnswer{}, err
	}
	if err := p.pay(o, in.Amount, in.Method, account, c.now); err != nil {
		return paymentAnswer{}, err
	}
	return paymentAnswer{200, "The payment of " + in.Amount.String() + " " + o.currency + " has been added", "success"}, nil
}

// payment checks an amount that is to be paid for an order.
func (f *flaws) payment(field string, amount value.Amount, o *order) {
	switch {
	case !amount.IsPositive():
		f.add(field, "The amount is more than 0.")
	case !amount.Fits(o.currency):
		f.add(field, "The amount has more decimals than "+o.currency+" has.")
	case amount.GreaterThan(o.due()):
		f.add(field, "Only "+o.due().String()+" "+o.currency+" are due.")
	}
}

// pay records a payment that was checked. The first one of an order makes its invoice.
func (p *Platform) pay(o *order, amount value.Amount, method string, account *treasuryAccount, now value.Stamp) error {
	co := o.company
	if err := p.room.Has(5); err != nil { // invoice, payment, order, two events
		return err
	}
	if err := co.orders.Keep(&p.room, o); err != nil {
		return err
	}
	if o.invoice == nil {
		o.invoice = &invoice{id: p.newID(), number: co.invoices.Len() + 1, order: o, amount: value.Amount{Decimal: o.sums.Total},
			created: now, updated: now}
		if err := co.invoices.Add(&p.room, o.invoice); err != nil {
			return err
		}
	}
	m := &payment{id: p.newID(), number: co.payments.Len() + 1, order: o, amount: amount, method: method, account: account, at: now}
	if err := co.payments.Add(&p.room, m); err != nil {
		return err
	}
	o.payments, o.paid, o.updated = append(o.payments, m), o.paid.Add(amount.Decimal), now
	if account != nil {
		account.Balance = value.Amount{Decimal: account.Balance.Add(amount.Decimal)}
		account.updated = now
	}
	p.emit(co, "payment.received", m.view(nil))
	p.emit(co, "order.updated", o.view())
	return nil
}

var paymentList = records.List[*payment]{
	Filters: map[string]records.Filter[*payment]{
		"search":   records.Searching(func(m *payment) []string { return []string{m.reference(), m.order.reference(), m.method} }),
		"order_id": records.Equal(func(m *payment) string { return m.order.id }),
		"type":     records.Equal(func(*payment) string { return "inbound" }),
	},
	Sorts: map[string]func(a, b *payment) int{
		records.Birth: records.ByTime(func(m *payment) value.Stamp { return m.at }),
		"paid_at":     records.ByTime(func(m *payment) value.Stamp { return m.at }),
		"amount":      func(a, b *payment) int { return a.amount.Cmp(b.amount.Decimal) },
	},
	Includes: []string{"treasuryAccount", "payable", "company"},
	View:     func(m *payment, in records.Includes) any { return m.view(in) },
}

// listPayments is GET /admin/payments.
func (p *Platform) listPayments(c *call) (records.Page, error) {
	return paymentList.Page(c.asked(), &c.company.payments)
}
