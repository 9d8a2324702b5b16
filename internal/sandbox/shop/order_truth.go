package shop

import (
	"time"

	"campaignd/internal/sandbox/shop/value"
)

// orderTruth is what the sandbox knows of orders, for tests. It names no person.
type orderTruth struct {
	Orders   []orderFact   `json:"orders"` // without those that are generated and unchanged
	Payments []paymentFact `json:"payments"`
	Links    []linkFact    `json:"links"`
	Events   []eventFact   `json:"events"`
}

type orderFact struct {
	ID         string       `json:"id"`
	Reference  string       `json:"reference"`
	CompanyID  string       `json:"company_id"`
	CustomerID string       `json:"customer_id"`
	ShopID     value.Text   `json:"shop_id"`
	Currency   string       `json:"currency"`
	Status     string       `json:"status"`
	Billing    string       `json:"billing_status"`
	Total      value.Amount `json:"total"`
	Due        value.Amount `json:"amount_due"`
	CreatedAt  value.Stamp  `json:"created_at"`
}

type paymentFact struct {
	ID        string       `json:"id"`
	OrderID   string       `json:"order_id"`
	Amount    value.Amount `json:"amount"`
	Currency  string       `json:"currency"`
	Method    string       `json:"method"`
	CreatedAt value.Stamp  `json:"created_at"`
}

type linkFact struct {
	OrderID   string       `json:"order_id"`
	Amount    value.Amount `json:"amount"`
	CreatedAt value.Stamp  `json:"created_at"`
}

type eventFact struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	CompanyID  string         `json:"company_id"`
	CreatedAt  value.Stamp    `json:"created_at"`
	Deliveries []deliveryFact `json:"deliveries"`
}

type deliveryFact struct {
	URL   string       `json:"url"`
	Posts int          `json:"posts"`
	Acked *value.Stamp `json:"acked_at"`
}

// ordersSoFar reads the truth. The caller holds the lock.
func (p *Platform) ordersSoFar() orderTruth {
	t := orderTruth{Orders: []orderFact{}, Payments: []paymentFact{}, Links: []linkFact{}, Events: []eventFact{}}
	for _, co := range p.companies {
		for o := range co.orders.Stored() {
			t.Orders = append(t.Orders, orderFact{o.id, o.reference(), co.ID, o.customer, value.Text(o.shop), o.currency, o.status,
				o.billingStatus(), value.Amount{Decimal: o.sums.Total}, value.Amount{Decimal: o.due()}, o.created})
		}
		for m := range co.payments.All() {
			t.Payments = append(t.Payments, paymentFact{m.id, m.order.id, m.amount, m.order.currency, m.method, m.at})
		}
		for l := range co.links.All() {
			t.Links = append(t.Links, linkFact{l.order.id, l.amount, l.created})
		}
		for e := range co.events.All() {
			t.Events = append(t.Events, e.fact(co))
		}
	}
	return t
}

func (e *event) fact(co *company) eventFact {
	f := eventFact{e.id, e.kind, co.ID, e.at, []deliveryFact{}}
	for _, d := range e.deliveries {
		d.hook.mu.Lock()
		one := deliveryFact{URL: d.hook.URL, Posts: d.posts}
		if !d.acked.IsZero() {
			one.Acked = &value.Stamp{Time: d.acked.UTC().Truncate(time.Microsecond)}
		}
		d.hook.mu.Unlock()
		f.Deliveries = append(f.Deliveries, one)
	}
	return f
}
