package client

import (
	"context"
	"net/http"
	"net/url"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// CreateKey makes a key of the API. Only this answer has the secret. If idempotency is not "", a
// second call with the same value fails with CodeRepeated. All calls about keys need a key with the
// scope admin.
func (c *Client) CreateKey(ctx context.Context, name, scope, company, idempotency string) (resource.NewKey, error) {
	return one[resource.NewKey](ctx, c, call{method: http.MethodPost, path: "/keys", once: idempotency, body: struct {
		Name    string `json:"name"`
		Scope   string `json:"scope"`
		Company string `json:"company,omitempty"`
	}{name, scope, company}})
}

// Keys lists the keys, the newest first. Revoked keys are included.
func (c *Client) Keys(ctx context.Context) ([]resource.Key, error) {
	return one[[]resource.Key](ctx, c, call{method: http.MethodGet, path: "/keys"})
}

// RevokeKey makes a key invalid for ever.
func (c *Client) RevokeKey(ctx context.Context, id string) (resource.Key, error) {
	return one[resource.Key](ctx, c, call{method: http.MethodDelete, path: "/keys/" + url.PathEscape(id)})
}

// Actions lists the log of actions, the newest line first.
func (c *Client) Actions(ctx context.Context, f campaign.ActionFilter) ([]resource.Action, error) {
	q := url.Values{}
	setTime(q, "before", f.Before)
	set(q, "before_id", f.BeforeID)
	setInt(q, "limit", int64(f.Limit))
	set(q, "on", f.On)
	return one[[]resource.Action](ctx, c, call{method: http.MethodGet, path: "/actions", query: q})
}
