package client

import (
	"context"
	"net/http"

	"campaignd/campaign"
)

// Erase removes a number, in international form with +, from the ledger for ever. Nothing is sent
// to the number again. If Erased.UnderWay is not 0, repeat the call later: those messages still
// keep the number. The key needs the scope admin.
func (c *Client) Erase(ctx context.Context, number string) (campaign.Erased, error) {
	return one[campaign.Erased](ctx, c, call{method: http.MethodPost, path: "/erase", body: struct {
		Number string `json:"number"`
	}{number}})
}
