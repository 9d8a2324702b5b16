package service

import (
	"context"
	"errors"
	"net/url"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
	"campaignd/internal/secret"
)

// Webhook is a registered endpoint.
type Webhook struct {
	ID  string
	URL string
	// Events are the types of events that the endpoint gets; empty means all.
	Events []string
	// Secret is set by RegisterWebhook only.
	Secret messaging.Secret
}

// RegisterWebhook registers an HTTPS endpoint (POST /api/v1/webhooks). The fields are assumed
// (docs/service.md#assumptions). Without events the service chooses the types. The service shows
// the secret only in this answer.
func (c *Client) RegisterWebhook(ctx context.Context, address string, events []string) (Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && !(u.Scheme == "http" && secret.Loopback(u.Hostname())) || u.Host == "" {
		return Webhook{}, errors.New("webhook URL: must be https")
	}
	f := fields{"url": address}
	if len(events) > 0 {
		f["events"] = events
	}
	v, err := c.do(ctx, "webhook_register", "", f)
	if err != nil {
		return Webhook{}, err
	}
	return webhookOf(v), nil
}

// Webhooks lists the registered endpoints without their secrets (GET /api/v1/webhooks, assumed).
// The error is ErrNotOffered if the service answers 404, 405 or 501.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	items, err := c.list(ctx, "webhooks", "", nil)
	if err != nil {
		return nil, err
	}
	out := make([]Webhook, 0, len(items))
	for _, v := range items {
		out = append(out, webhookOf(v))
	}
	return out, nil
}

// DeleteWebhook removes an endpoint (DELETE /api/v1/webhooks/ID, assumed).
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, "webhook_delete", id, nil)
	return err
}

// ReplayWebhooks asks the service to post the events from since to until again, in whole seconds,
// to every endpoint that the key covers (POST /api/v1/webhooks/replay, assumed). It returns how
// many deliveries the service makes. The error is ErrNotOffered if the service answers 404, 405 or
// 501; one with a status of 2xx means that the service took the request without telling the number.
func (c *Client) ReplayWebhooks(ctx context.Context, since, until time.Time) (deliveries int64, err error) {
	f, err := span(since, until)
	if err != nil {
		return 0, err
	}
	v, err := c.do(ctx, "webhook_replay", "", f)
	if err != nil {
		return 0, err
	}
	record := recordOf(replayFields, v)
	deliveries, ok := record.get("deliveries").Integer()
	if !ok {
		return 0, badAnswer(c.routes["webhook_replay"], "the answer has no field deliveries")
	}
	return deliveries, nil
}

// span has the fields of a replay.
func span(since, until time.Time) (fields, error) {
	if since.IsZero() || !since.Before(until) {
		return nil, errors.New("replay: since must be given and be before until")
	}
	return fields{"since": since.UTC().Format(time.RFC3339), "until": until.Add(time.Second - 1).UTC().Format(time.RFC3339)}, nil
}

func webhookOf(v rawjson.Value) Webhook {
	r := recordOf(webhookFields, v)
	w := Webhook{ID: r.text("id"), URL: r.text("url"), Secret: messaging.NewSecret(r.text("secret"))}
	for m := r.get("events").Members(); m.Next(); {
		w.Events = append(w.Events, m.Val.Text())
	}
	return w
}
