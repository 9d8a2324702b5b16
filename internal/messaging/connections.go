package messaging

import "context"

// Connection is one business account plus one phone number that the key can reach.
type Connection struct {
	ID          string // the connectionId of every send
	Phone       string // as the service writes it; E.164 expected
	DisplayName string
	CompanyID   string // the client it belongs to
	Status      string
}

// Connections lists what the key can reach (GET /api/v1/connections; the item's fields beyond id are
// assumed).
func (c *Client) Connections(ctx context.Context) ([]Connection, error) {
	items, err := c.list(ctx, c.assumed.ConnectionsPath, "")
	if err != nil {
		return nil, err
	}
	out := make([]Connection, 0, len(items))
	for _, v := range items {
		r := c.assumed.record("connections", connectionFields, v)
		out = append(out, Connection{
			ID: r.text("id"), Phone: r.text("phoneNumber"), DisplayName: r.text("displayName"),
			CompanyID: r.text("companyId"), Status: r.text("status"),
		})
	}
	return out, nil
}
