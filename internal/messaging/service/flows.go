package service

import (
	"context"
	"time"

	"campaignd/internal/rawjson"
)

// Flow is a form of several screens inside a session message.
type Flow struct {
	ID         string   `wire:"id"`
	Name       string   `wire:"name"`
	Status     string   `wire:"status"` // DRAFT, PUBLISHED
	Categories []string `wire:"categories"`
	// ValidationErrors is the list as the service writes it.
	ValidationErrors rawjson.Value `wire:"validationErrors"`
}

// FlowPreview is an address where a person can try a flow.
type FlowPreview struct {
	URL       string    `wire:"url"`
	ExpiresAt time.Time `wire:"expiresAt"`
}

// Flows lists the flows of a connection, or all of the key with "".
func (c *Client) Flows(ctx context.Context, connectionID string) ([]Flow, error) {
	return all[Flow](ctx, c, "flows", "", fields{"connectionId": connectionID})
}

// Flow returns one flow.
func (c *Client) Flow(ctx context.Context, id string) (Flow, error) {
	return one[Flow](ctx, c, "flow", id, nil)
}

// CreateFlow makes a draft. definition is the JSON of the screens, or "".
func (c *Client) CreateFlow(ctx context.Context, connectionID, name string, categories []string, definition string) (Flow, error) {
	f := flowFields(name, categories, definition)
	f["connectionId"] = connectionID
	return one[Flow](ctx, c, "flow_create", "", f)
}

// UpdateFlow replaces what is not empty.
func (c *Client) UpdateFlow(ctx context.Context, id, name string, categories []string, definition string) (Flow, error) {
	return one[Flow](ctx, c, "flow_update", id, flowFields(name, categories, definition))
}

// PreviewFlow returns an address where a person can try a flow.
func (c *Client) PreviewFlow(ctx context.Context, id string) (FlowPreview, error) {
	return one[FlowPreview](ctx, c, "flow_preview", id, nil)
}

// PublishFlow makes a draft usable for ever: a published flow cannot be changed.
func (c *Client) PublishFlow(ctx context.Context, id string) (Flow, error) {
	return one[Flow](ctx, c, "flow_publish", id, nil)
}

func flowFields(name string, categories []string, definition string) fields {
	f := fields{}
	f.set("name", name)
	f.set("json", definition)
	if len(categories) > 0 {
		f["categories"] = categories
	}
	return f
}
