package client

import (
	"context"
	"net/http"

	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
)

// FollowUp makes a new run over rows of an ended one. The same choice always gives the same run.
func (c *Client) FollowUp(ctx context.Context, id string, r resource.FollowUpRequest) (resource.FollowedUp, error) {
	q := ofRun(http.MethodPost, id, "/follow-ups")
	q.body, q.long = r, true
	return one[resource.FollowedUp](ctx, c, q)
}

// Doubts returns the rows of a run that may or may not have been sent.
func (c *Client) Doubts(ctx context.Context, id string) (launch.Uncertainty, error) {
	q := ofRun(http.MethodGet, id, "/doubts")
	q.long = true
	return one[launch.Uncertainty](ctx, c, q)
}
