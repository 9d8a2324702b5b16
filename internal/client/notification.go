package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// Notifications lists at most limit (1 to 1000) notifications of the outbox, the newest first.
// state selects one state; "" selects all.
func (c *Client) Notifications(ctx context.Context, state campaign.NotificationState, limit int) ([]resource.Notification, error) {
	q := url.Values{}
	set(q, "state", string(state))
	setInt(q, "limit", int64(limit))
	return one[[]resource.Notification](ctx, c, call{method: http.MethodGet, path: "/notifications", query: q})
}

// Notification returns one notification by its number.
func (c *Client) Notification(ctx context.Context, no int64) (resource.Notification, error) {
	return one[resource.Notification](ctx, c, call{method: http.MethodGet, path: "/notifications/" + strconv.FormatInt(no, 10)})
}

// SendNotification makes the process send a notification again, with the same id. The process tries
// for three days from now.
func (c *Client) SendNotification(ctx context.Context, no int64) (resource.Notification, error) {
	return one[resource.Notification](ctx, c, call{method: http.MethodPost, path: "/notifications/" + strconv.FormatInt(no, 10) + "/send"})
}
