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

// AutomaticDiscounts returns the discounts that apply to a customer by themselves. The customer is
// named by its id, else by email and phone. The request is a POST and is never repeated.
func (c *Client) AutomaticDiscounts(ctx context.Context, customer Customer) (all []Discount, err error) {
	who := map[string]string{"id": customer.ID}
	if customer.ID == "" {
		who = map[string]string{"email": customer.Email, "phone": customer.Phone}
	}
	q, err := post("/2023-11/discounts/automatic", map[string]any{"customer": who})
	if err != nil {
		return nil, err
	}
	var answer discounts
	err = c.do(ctx, q, &answer)
	return answer, err
}

// discounts is a list of discounts, bare or under data (docs/commerce.md#assumptions).
type discounts []Discount

// UnmarshalJSON implements json.Unmarshaler.
func (d *discounts) UnmarshalJSON(b []byte) error {
	var under struct {
		Data []Discount `json:"data"`
	}
	if json.Unmarshal(b, (*[]Discount)(d)) == nil {
		return nil
	}
	if json.Unmarshal(b, &under) != nil || under.Data == nil {
		return errForm
	}
	*d = under.Data
	return nil
}

// post returns a call of a storefront route with a JSON body.
func post(route string, body any) (call, error) {
	written, err := json.Marshal(body)
	if err != nil {
		return call{}, fmt.Errorf("POST %s: %w", route, err)
	}
	return call{method: http.MethodPost, route: route, path: route, scope: storefront, contentType: "application/json", body: written}, nil
}
