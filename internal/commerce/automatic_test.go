package commerce

import (
	"context"
	"encoding/json"
)

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
