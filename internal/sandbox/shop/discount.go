package shop

import (
	"net/http"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// discount is a discount of a company.
type discount struct {
	scenario.Discount
	company *company
}

func (d *discount) Key() string { return d.ID }

// usable reports whether a customer may use the discount at an instant. Before a customer is known,
// customer is "", and a discount of some customers counts as usable.
func (d *discount) usable(at value.Stamp, customer string) bool {
	switch {
	case !on(d.Active),
		!d.StartsAt.IsZero() && at.Before(d.StartsAt.Time),
		!d.EndsAt.IsZero() && at.After(d.EndsAt.Time):
		return false
	}
	return customer == "" || len(d.Customers) == 0 || slices.Contains(d.Customers, customer)
}

// cut is what the discount takes away.
func (d *discount) cut() value.Cut {
	return value.Cut{Fixed: d.Type == "fixed", Value: d.Value.Decimal}
}

func cuts(of []*discount) []value.Cut {
	all := make([]value.Cut, 0, len(of))
	for _, d := range of {
		all = append(all, d.cut())
	}
	return all
}

// discountView is a discount as the scenario has it; the document does not show its fields.
type discountView struct {
	ID        string       `json:"id"`
	Code      value.Text   `json:"code"`
	Name      string       `json:"name"`
	Type      string       `json:"type"`
	Value     value.Amount `json:"value"`
	Level     string       `json:"level"`
	Automatic bool         `json:"automatic"`
	Active    bool         `json:"active"`
	StartsAt  value.Stamp  `json:"starts_at"`
	EndsAt    value.Stamp  `json:"ends_at"`
	CompanyID string       `json:"company_id"`
}

func (d *discount) view() discountView {
	return discountView{
		ID: d.ID, Code: value.Text(d.Code), Name: d.Name, Type: d.Type, Value: d.Value, Level: d.Level, Automatic: d.Automatic,
		Active: on(d.Active), StartsAt: d.StartsAt, EndsAt: d.EndsAt, CompanyID: d.company.ID,
	}
}

func viewDiscounts(of []*discount) []discountView {
	all := make([]discountView, 0, len(of))
	for _, d := range of {
		all = append(all, d.view())
	}
	return all
}

// byCode finds the discount with a code, in any case.
func (c *company) byCode(code string) *discount {
	for d := range c.discounts.All() {
		if code != "" && strings.EqualFold(d.Code, strings.TrimSpace(code)) {
			return d
		}
	}
	return nil
}

// discountByCode is GET /discounts?code=.
func (p *Platform) discountByCode(c *call) (discountView, error) {
	customer := ""
	if c.customer != nil {
		customer = c.customer.ID
	}
	d := c.company.byCode(c.query.Get("code"))
	if d == nil || !d.usable(c.now, customer) {
		return discountView{}, say(http.StatusNotFound, "The discount code is not valid")
	}
	return d.view(), nil
}

// automaticRequest names the customer of a cart.
type automaticRequest struct {
	Customer struct {
		ID    string `json:"id"`
		Email string `json:"email"`
		Phone string `json:"phone"`
	} `json:"customer"`
}

// single is an answer {data}.
type single[T any] struct {
	Data T `json:"data"`
}

// automaticDiscounts is POST /discounts/automatic: the automatic discounts that the customer may
// use. A customer that the company does not know may use those without customers.
func (p *Platform) automaticDiscounts(c *call, in automaticRequest) (single[[]discountView], error) {
	who := c.customer
	if who == nil {
		who, _ = c.company.customers.Get(in.Customer.ID)
	}
	if who == nil {
		who = c.company.holder(in.Customer.Email, in.Customer.Phone)
	}
	id := "nobody"
	if who != nil {
		id = who.ID
	}
	found := []*discount{}
	for d := range c.company.discounts.All() {
		if d.Automatic && d.usable(c.now, id) {
			found = append(found, d)
		}
	}
	return single[[]discountView]{viewDiscounts(found)}, nil
}
