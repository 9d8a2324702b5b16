package commerce

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
)

// Order is an order of the company.
type Order struct {
	ID         string `json:"id"`
	Reference  string `json:"reference"`
	Amount     Amount `json:"amount"`
	AmountDue  Amount `json:"amount_due"`
	Currency   string `json:"currency"`
	Status     string `json:"status"`
	Source     string `json:"source"`
	ShopID     string `json:"shop_id"`
	CustomerID string `json:"customer_id"`
	// Customer is nil unless the list was asked for it.
	Customer  *Customer       `json:"customer"`
	Billing   Billing         `json:"billing"`
	Lines     []Line          `json:"order_products"`
	Discounts []OrderDiscount `json:"discounts"`
	Metadata  Metadata        `json:"metadata"`
	CreatedAt Time            `json:"created_at"`
	UpdatedAt Time            `json:"updated_at"`
	DeletedAt Time            `json:"deleted_at"`
	// ExpiresAt is zero for an order that stays payable.
	ExpiresAt Time `json:"expires_at"`
}

func (o Order) key() string { return o.ID }

// Billing says what an order costs and whether it is paid.
type Billing struct {
	Method   string `json:"method"`
	Status   string `json:"status"` // pending or paid
	Subtotal Amount `json:"subtotal"`
	Discount Amount `json:"discount"`
	Total    Amount `json:"total"`
	NetToPay Amount `json:"net_to_pay"`
	// Address is nil unless the order has one.
	Address *Address `json:"address"`
}

// Address is a postal address, as far as campaignd reads it.
type Address struct {
	Phone   string `json:"phone"`
	Country string `json:"country"` // a name or a code
}

// Line is one product of an order. Price is the price of one unit.
type Line struct {
	ProductID string `json:"product_id"`
	VariantID string `json:"variant_id"`
	Price     Amount `json:"price"`
	Quantity  int64  `json:"quantity"`
}

// OrderDiscount is a discount of an order; the platform gives its id, its code or both.
type OrderDiscount struct {
	ID   string `json:"discount_id"`
	Code string `json:"code"`
}

// UnmarshalJSON implements json.Unmarshaler. The platform may write an empty object as [].
func (a *Address) UnmarshalJSON(b []byte) error {
	type plain Address
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil && len(list) == 0 {
		*a = Address{}
		return nil
	}
	return json.Unmarshal(b, (*plain)(a))
}

// OrderQuery says which orders to list, and how.
type OrderQuery struct {
	// Search finds orders by a text, such as a reference. Default all.
	Search string
	// Sort is created_at or updated_at, with - in front for the newest first. Default the platform's.
	Sort string
	// Customer asks for the customer of each order.
	Customer bool
}

// Orders returns orders. An order may come more than once, as it was each time. A pair may have a
// *RecordError, which concerns one order only; with any other error the list could not be read to
// its end. A caller that wants the newest only sorts by -updated_at and stops reading.
func (c *Client) Orders(ctx context.Context, q OrderQuery) iter.Seq2[Order, error] {
	query := url.Values{}
	if q.Search != "" {
		query.Set(c.o.Assumed.SearchFilter, q.Search)
	}
	if q.Sort != "" {
		query.Set("sort", q.Sort)
	}
	if q.Customer {
		query.Set("include", "customer")
	}
	return each[Order](ctx, c, c.o.Assumed.OrdersPath, query)
}

// Order returns the order with an id, without its customer. The error has CodeNotFound if there is
// none.
func (c *Client) Order(ctx context.Context, id string) (Order, error) {
	q, err := call{method: http.MethodGet, route: "/2023-11/customers/orders/{order}", scope: storefront, repeat: true}.of(id)
	if err != nil {
		return Order{}, err
	}
	var answer struct {
		Data Order `json:"data"`
	}
	if err := c.do(ctx, q, &answer); err != nil {
		return Order{}, err
	}
	if answer.Data.ID != id {
		return Order{}, q.fault(CodeBadAnswer)
	}
	return answer.Data, nil
}

// Ended reports whether the order was cancelled, refunded or deleted.
func (o *Order) Ended() bool {
	return !o.DeletedAt.IsZero() || o.Status == "cancelled" || o.Status == "refunded"
}

// Payment is a payment of the company.
type Payment struct {
	ID           string `json:"id"`
	Reference    string `json:"reference"`
	Amount       Amount `json:"amount"`
	CurrencyCode string `json:"currency_code"`
	Method       string `json:"method"`
	Status       string `json:"status"` // paid
	Type         string `json:"type"`   // inbound
	// Metadata has order_id.
	Metadata  Metadata `json:"metadata"`
	PaidAt    Time     `json:"paid_at"`
	CreatedAt Time     `json:"created_at"`
}

func (p Payment) key() string { return p.ID }

// OrderID returns the order that the payment is for, "" for none.
func (p Payment) OrderID() string { return p.Metadata["order_id"] }

// PaymentQuery says which payments to list.
type PaymentQuery struct {
	Order string // id; default the payments of all
	Type  string // such as inbound; default all
	Sort  string // such as -created_at; default the platform's
}

// Payments returns payments, and errors as Orders does.
func (c *Client) Payments(ctx context.Context, q PaymentQuery) iter.Seq2[Payment, error] {
	query := url.Values{}
	for _, p := range []struct{ name, value string }{
		{c.o.Assumed.OrderFilter, q.Order}, {c.o.Assumed.TypeFilter, q.Type}, {"sort", q.Sort},
	} {
		if p.value != "" {
			query.Set(p.name, p.value)
		}
	}
	return each[Payment](ctx, c, "/2023-11/admin/payments", query)
}

// LinkRequest says what a payment link is for.
type LinkRequest struct {
	// Order is the id of the order.
	Order string
	// AmountDue is the amount; zero means the order's amount due.
	AmountDue Amount
	// SuccessURL and CancelURL are where the payer goes afterwards.
	SuccessURL, CancelURL string
}

// PaymentLink makes a payment link and returns its address. A link moves no money, so the request
// is repeated like one that reads.
func (c *Client) PaymentLink(ctx context.Context, r LinkRequest) (string, error) {
	body := map[string]any{}
	if !r.AmountDue.IsZero() {
		body["amount_due"] = r.AmountDue
	}
	if r.SuccessURL != "" {
		body["success_url"] = r.SuccessURL
	}
	if r.CancelURL != "" {
		body["cancel_url"] = r.CancelURL
	}
	q, err := post("/2023-11/customers/orders/{order}/payments", body)
	if err != nil {
		return "", err
	}
	q.repeat = true
	if q, err = q.of(r.Order); err != nil {
		return "", err
	}
	var answer struct {
		URL string `json:"url"`
	}
	if err := c.do(ctx, q, &answer); err != nil {
		return "", err
	}
	if answer.URL == "" {
		return "", q.fault(CodeBadAnswer)
	}
	return answer.URL, nil
}
