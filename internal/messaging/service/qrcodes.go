package service

import "context"

// QRCode opens a conversation with a prepared text.
type QRCode struct {
	Code             string `wire:"code"`
	PrefilledMessage string `wire:"prefilledMessage"`
	URL              string `wire:"url"`
}

// QRCodes lists the codes of a connection.
func (c *Client) QRCodes(ctx context.Context, connectionID string) ([]QRCode, error) {
	return all[QRCode](ctx, c, "qr_codes", "", fields{"connectionId": connectionID})
}

// CreateQRCode makes a code for a connection.
func (c *Client) CreateQRCode(ctx context.Context, connectionID, message string) (QRCode, error) {
	return one[QRCode](ctx, c, "qr_codes_create", "", fields{"connectionId": connectionID, "prefilledMessage": message})
}

// UpdateQRCode replaces the text of a code. Its link stays.
func (c *Client) UpdateQRCode(ctx context.Context, connectionID, code, message string) (QRCode, error) {
	return one[QRCode](ctx, c, "qr_codes_update", code, fields{"connectionId": connectionID, "prefilledMessage": message})
}

// DeleteQRCode removes a code.
func (c *Client) DeleteQRCode(ctx context.Context, connectionID, code string) error {
	return c.done(ctx, "qr_codes_delete", code, fields{"connectionId": connectionID})
}
