package commerce

import (
	"context"
	"net/http"
	"net/url"
)

// Company is the public record of the company.
type Company struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Handle      string `json:"handle"`
	CompanyCode string `json:"company_code"`
	Currency    struct {
		Code string `json:"code"`
		Name string `json:"name"`
	} `json:"currency"`
	Address Address `json:"address"`
}

// Company returns the company of the options. The platform shows it without a key.
func (c *Client) Company(ctx context.Context) (company Company, err error) {
	q, err := call{method: http.MethodGet, route: "/2023-11/companies/{company}", scope: storefront, repeat: true}.of(c.o.Company)
	if err == nil {
		err = c.do(ctx, q, &company)
	}
	return company, err
}

// Check returns the company, and an error unless its key or token may read the company's payments,
// which is what campaignd needs and what the document shows.
func (c *Client) Check(ctx context.Context) (Company, error) {
	company, err := c.Company(ctx)
	if err != nil {
		return Company{}, err
	}
	const route = "/2023-11/admin/payments"
	var first page
	query := url.Values{c.o.Assumed.PageSizeParameter: {"1"}}
	err = c.do(ctx, call{method: http.MethodGet, route: route, path: route, query: query.Encode(), scope: admin, repeat: true}, &first)
	return company, err
}
