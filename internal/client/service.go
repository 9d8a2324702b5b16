package client

import (
	"context"
	"net/http"
	"net/url"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// Templates lists the templates of the account of a connection. The connection may be "" if there
// is one account only. The error has CodeNotOffered if the service has no such operation.
func (c *Client) Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error) {
	return one[[]messaging.TemplateRecord](ctx, c, ofConnection(http.MethodGet, "/templates", connection))
}

// SyncTemplates has the service read the templates of the account of a connection from the platform
// again. The connection may be "" if there is one account only.
func (c *Client) SyncTemplates(ctx context.Context, connection string) (service.TemplateSync, error) {
	return one[service.TemplateSync](ctx, c, ofConnection(http.MethodPost, "/templates/sync", connection))
}

// Media lists the files that the service keeps for the company of a connection, or for all with "".
func (c *Client) Media(ctx context.Context, connection string) ([]service.File, error) {
	return one[[]service.File](ctx, c, ofConnection(http.MethodGet, "/media", connection))
}

func ofConnection(method, path, connection string) call {
	q := call{method: method, path: path}
	if connection != "" {
		q.query = url.Values{"connection": {connection}}
	}
	return q
}
