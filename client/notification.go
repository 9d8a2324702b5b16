package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"campaignd/campaign"
	"campaignd/client/resource"
)

// Notifications lists what is in the outbox, the newest first: at most limit (1 to 1000), in one
// state; "": in any.
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

// SendNotification has a notification sent again, for three days from now, with the id that it has.
func (c *Client) SendNotification(ctx context.Context, no int64) (resource.Notification, error) {
	return one[resource.Notification](ctx, c, call{method: http.MethodPost, path: "/notifications/" + strconv.FormatInt(no, 10) + "/send"})
}
