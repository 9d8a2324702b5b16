package client

import (
	"context"
	"net/http"
	"net/url"

	"campaignd/campaign"
	"campaignd/client/resource"
)

// Numbers lists the connections, with their limits as they are now.
func (c *Client) Numbers(ctx context.Context) ([]resource.Number, error) {
	return one[[]resource.Number](ctx, c, call{method: http.MethodGet, path: "/numbers"})
}

// WhyNumber says what limits a connection now, over all runs that are not finished. The error has
// CodeNotFound if it is neither configured nor one of a recent run.
func (c *Client) WhyNumber(ctx context.Context, connection string) (campaign.WhyNumber, error) {
	return one[campaign.WhyNumber](ctx, c, call{method: http.MethodGet, path: "/numbers/" + url.PathEscape(connection) + "/why"})
}

// Holds lists what may not be sent now; with ended also what has ended.
func (c *Client) Holds(ctx context.Context, ended bool) ([]campaign.HoldState, error) {
	q := url.Values{}
	if ended {
		q.Set("all", "true")
	}
	return one[[]campaign.HoldState](ctx, c, call{method: http.MethodGet, path: "/holds", query: q})
}

// AddHold holds a scope. Adding it again replaces its end and its reason.
func (c *Client) AddHold(ctx context.Context, h resource.HoldRequest) (campaign.HoldState, error) {
	return one[campaign.HoldState](ctx, c, call{method: http.MethodPost, path: "/holds", body: h})
}

// LiftHolds ends holds, and returns those that it ended.
func (c *Client) LiftHolds(ctx context.Context, l resource.LiftRequest) ([]campaign.HoldState, error) {
	return one[[]campaign.HoldState](ctx, c, call{method: http.MethodPost, path: "/holds/lift", body: l})
}
