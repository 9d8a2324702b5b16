package client

import (
	"context"
	"net/http"

	"campaignd/campaign"
)

// Erase removes a number in international form with + from the ledger for ever; it is never sent to
// again. While messages are under way to it (Erased.UnderWay), the call is to be repeated. It needs
// a key of the scope admin.
func (c *Client) Erase(ctx context.Context, number string) (campaign.Erased, error) {
	return one[campaign.Erased](ctx, c, call{method: http.MethodPost, path: "/erase", body: struct {
		Number string `json:"number"`
	}{number}})
}
