package service

import (
	"context"

	"campaignd/internal/messaging"
)

// Connections lists the connections that the key can reach (GET /api/v1/connections). The fields
// except the id are assumed (docs/service.md#assumptions).
func (c *Client) Connections(ctx context.Context) ([]messaging.Connection, error) {
	items, err := c.list(ctx, c.assumed.ConnectionsPath, "")
	if err != nil {
		return nil, err
	}
	out := make([]messaging.Connection, 0, len(items))
	for _, v := range items {
		r := recordOf(connectionFields, v)
		out = append(out, messaging.Connection{
			ID: r.text("id"), Phone: r.text("phoneNumber"), CompanyID: r.text("companyId"),
			AccountID: r.text("accountId"), Status: r.text("status"),
		})
	}
	return out, nil
}
