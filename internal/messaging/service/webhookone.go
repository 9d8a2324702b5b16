package service

import (
	"context"
	"errors"
	"net/url"
	"time"

	"campaignd/internal/messaging"
)

// WebhookDelivery is one event on its way to an endpoint.
type WebhookDelivery struct {
	ID         string    `wire:"id" json:"id"`
	EventID    string    `wire:"eventId" json:"eventId"`
	Type       string    `wire:"type" json:"type"`
	State      string    `wire:"state" json:"state"` // pending, delivered, failed
	Attempts   int64     `wire:"attempts" json:"attempts"`
	HTTPStatus int64     `wire:"httpStatus,optional" json:"httpStatus"` // 0: no answer yet
	CreatedAt  time.Time `wire:"createdAt" json:"createdAt"`
}

// WebhookDeliveries lists the events of an endpoint, newest first, of one state or of all with "".
func (c *Client) WebhookDeliveries(ctx context.Context, id, state string) ([]WebhookDelivery, error) {
	return all[WebhookDelivery](ctx, c, "webhook_deliveries", id, fields{"state": state})
}

// ReplayWebhook asks the service to post the events from since to until again to one endpoint. No
// events means all types. It returns how many deliveries the service makes.
func (c *Client) ReplayWebhook(ctx context.Context, id string, since, until time.Time, events []string) (int64, error) {
	f, err := span(since, until)
	if err != nil {
		return 0, err
	}
	if len(events) > 0 {
		f["events"] = events
	}
	r, err := one[struct {
		Deliveries int64 `wire:"deliveries"`
	}](ctx, c, "webhook_replay_one", id, f)
	return r.Deliveries, err
}

// Replay asks the service to post the events from since to until again, to the endpoints whose
// address has this path. If the service lists no such endpoint, or cannot replay a single one, it
// asks for every endpoint of the key (ReplayWebhooks). An endpoint that refuses, such as an
// inactive one, does not stop the others; the error is its own if no endpoint takes the replay.
// Neither does an answer without the number, which is the error at the end.
func (c *Client) Replay(ctx context.Context, path string, since, until time.Time) (deliveries int64, err error) {
	registered, err := c.Webhooks(ctx)
	if err != nil && !NotOffered(err) {
		return 0, err
	}
	var refused, faulty error
	taken := false
	for _, w := range registered {
		if u, err := url.Parse(w.URL); err != nil || u.Path != path {
			continue
		}
		n, err := c.ReplayWebhook(ctx, w.ID, since, until, nil)
		var e *messaging.Error
		switch {
		case err == nil:
			deliveries, taken = deliveries+n, true
		case NotOffered(err) && !taken:
			return c.ReplayWebhooks(ctx, since, until)
		case errors.As(err, &e) && e.Status/100 == 2:
			faulty, taken = err, true
		case errors.As(err, &e) && e.Status >= 400 && e.Status < 500:
			refused = err
		default:
			return deliveries, err
		}
	}
	switch {
	case taken:
		return deliveries, faulty
	case refused != nil:
		return 0, refused
	}
	return c.ReplayWebhooks(ctx, since, until)
}
