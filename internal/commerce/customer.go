package commerce

import (
	"context"
	"errors"
	"iter"
	"net/url"
)

// Customer is a customer of the company.
type Customer struct {
	ID                string   `json:"id"`
	FirstName         string   `json:"first_name"`
	LastName          string   `json:"last_name"`
	CompanyName       string   `json:"company_name"`
	Email             string   `json:"email"`
	Phone             string   `json:"phone"`
	PreferredLanguage string   `json:"preferred_language"`
	Type              string   `json:"type"`
	Tags              Tags     `json:"tags"`
	Metadata          Metadata `json:"metadata"`
	CreatedAt         Time     `json:"created_at"`
	UpdatedAt         Time     `json:"updated_at"`
	DeletedAt         Time     `json:"deleted_at"`
}

func (c Customer) key() string { return c.ID }

// Customers returns the customers, all or those that a search finds. A customer may come more than
// once, as it was each time. A pair may have a *RecordError, which concerns one customer only; with
// any other error the list could not be read to its end.
func (c *Client) Customers(ctx context.Context, search string) iter.Seq2[Customer, error] {
	query := url.Values{}
	if search != "" {
		query.Set(c.o.Assumed.SearchFilter, search)
	}
	return each[Customer](ctx, c, c.o.Assumed.CustomersPath, query)
}

// Customer returns the customer with an id: a search finds the exact id. The error has
// CodeNotFound if there is none, and is a *RecordError if that customer cannot be read.
func (c *Client) Customer(ctx context.Context, id string) (Customer, error) {
	for customer, err := range c.Customers(ctx, id) {
		if one, odd := errors.AsType[*RecordError](err); odd && one.ID != id {
			continue
		}
		if err != nil || customer.ID == id {
			return customer, err
		}
	}
	return Customer{}, &Error{Code: CodeNotFound, Route: "GET " + c.o.Assumed.CustomersPath}
}
