package commerce

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Discount is a discount. The document does not show its fields (docs/commerce.md#assumptions).
type Discount struct {
	ID        string `json:"id"`
	Code      string `json:"code"`
	Name      string `json:"name"`
	Type      string `json:"type"` // percentage or fixed
	Value     Amount `json:"value"`
	Level     string `json:"level"` // order or product
	Automatic bool   `json:"automatic"`
	StartsAt  Time   `json:"starts_at"`
	EndsAt    Time   `json:"ends_at"`
}

// Discount returns the discount of a code. The error has CodeNotFound if the code is not valid.
func (c *Client) Discount(ctx context.Context, code string) (d Discount, err error) {
	const route = "/2023-11/discounts"
	err = c.do(ctx, call{method: http.MethodGet, route: route, path: route, query: url.Values{"code": {code}}.Encode(), scope: storefront,
		repeat: true}, &d)
	return d, err
}

// post returns a call of a storefront route with a JSON body.
func post(route string, body any) (call, error) {
	written, err := json.Marshal(body)
	if err != nil {
		return call{}, fmt.Errorf("POST %s: %w", route, err)
	}
	return call{method: http.MethodPost, route: route, path: route, scope: storefront, contentType: "application/json", body: written}, nil
}
