package client

import (
	"context"
	"net/http"
	"net/url"

	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
)

// Numbers lists the connections, with their limits as they are now.
func (c *Client) Numbers(ctx context.Context) ([]resource.Number, error) {
	return one[[]resource.Number](ctx, c, call{method: http.MethodGet, path: "/numbers"})
}

// WhyNumber returns what limits a connection now, over all unfinished runs. The error has
// CodeNotFound if the connection is neither configured nor part of a recent run.
func (c *Client) WhyNumber(ctx context.Context, connection string) (why.Number, error) {
	return one[why.Number](ctx, c, call{method: http.MethodGet, path: "/numbers/" + url.PathEscape(connection) + "/why"})
}

// Holds lists the holds. With ended it also lists those that have ended.
func (c *Client) Holds(ctx context.Context, ended bool) ([]wording.HoldState, error) {
	q := url.Values{}
	if ended {
		q.Set("all", "true")
	}
	return one[[]wording.HoldState](ctx, c, call{method: http.MethodGet, path: "/holds", query: q})
}

// AddHold begins a hold. A second call with the same scope and id replaces the end and the reason.
func (c *Client) AddHold(ctx context.Context, h resource.HoldRequest) (wording.HoldState, error) {
	return one[wording.HoldState](ctx, c, call{method: http.MethodPost, path: "/holds", body: h})
}

// LiftHolds ends holds and returns them.
func (c *Client) LiftHolds(ctx context.Context, l resource.LiftRequest) ([]wording.HoldState, error) {
	return one[[]wording.HoldState](ctx, c, call{method: http.MethodPost, path: "/holds/lift", body: l})
}
