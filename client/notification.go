package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"campaignd/campaign"
)

// Notification is what one of the operator's own addresses is told of.
type Notification struct {
	No          int64                      `json:"no"`
	ID          string                     `json:"id"`
	Destination string                     `json:"destination"`
	Kind        string                     `json:"kind"`
	Run         string                     `json:"run,omitempty"`
	Campaign    string                     `json:"campaign,omitempty"`
	Subject     string                     `json:"subject,omitempty"`
	Reason      string                     `json:"reason,omitempty"`
	Detail      string                     `json:"detail,omitempty"`
	At          time.Time                  `json:"at"`
	State       campaign.NotificationState `json:"state"`
	Attempts    int                        `json:"attempts"`
	NextAt      time.Time                  `json:"next_at,omitzero"`
	Error       string                     `json:"error,omitempty"`
	Body        string                     `json:"body,omitempty"`
}

// Notifications lists what is in the outbox, the newest first: at most limit (1 to 1000), in one
// state; "": in any.
func (c *Client) Notifications(ctx context.Context, state campaign.NotificationState, limit int) ([]Notification, error) {
	q := url.Values{}
	set(q, "state", string(state))
	setInt(q, "limit", int64(limit))
	return one[[]Notification](ctx, c, call{method: http.MethodGet, path: "/notifications", query: q})
}

// Notification returns one notification by its number.
func (c *Client) Notification(ctx context.Context, no int64) (Notification, error) {
	return one[Notification](ctx, c, call{method: http.MethodGet, path: "/notifications/" + strconv.FormatInt(no, 10)})
}

// SendNotification has a notification sent again, for three days from now, with the id that it has.
func (c *Client) SendNotification(ctx context.Context, no int64) (Notification, error) {
	return one[Notification](ctx, c, call{method: http.MethodPost, path: "/notifications/" + strconv.FormatInt(no, 10) + "/send"})
}
