package service

import (
	"context"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// CreateTemplate submits a template for the account of a connection. With a name of the library no
// components are sent.
func (c *Client) CreateTemplate(ctx context.Context, connectionID string, t messaging.TemplateRecord, libraryName string) (
	messaging.TemplateRecord, error) {
	f := fields{"connectionId": connectionID, "name": t.Name, "language": t.Language, "category": t.Category}
	if libraryName != "" {
		f["libraryName"] = libraryName
	} else {
		f["components"] = componentsOf(t.Components)
	}
	return c.template(ctx, "template_create", "", f)
}

// EditTemplate replaces the components, the category or both of a template. No components and an
// empty category are not sent. The platform reviews the template again.
func (c *Client) EditTemplate(ctx context.Context, id string, components []messaging.Component, category string) (
	messaging.TemplateRecord, error) {
	f := fields{}
	if components != nil {
		f["components"] = componentsOf(components)
	}
	if category != "" {
		f["category"] = category
	}
	return c.template(ctx, "template_edit", id, f)
}

// TemplateSync is what changed in the service's list of templates.
type TemplateSync struct {
	Added   int64 `wire:"added" json:"added"`
	Updated int64 `wire:"updated" json:"updated"`
	Removed int64 `wire:"removed" json:"removed"`
}

// SyncTemplates makes the service read the templates of a connection from the platform again.
func (c *Client) SyncTemplates(ctx context.Context, connectionID string) (TemplateSync, error) {
	return one[TemplateSync](ctx, c, "template_sync", "", fields{"connectionId": connectionID})
}

// TemplateLibrary lists the prepared templates whose name contains search; "" lists all. They have
// no id and no status.
func (c *Client) TemplateLibrary(ctx context.Context, search string) ([]messaging.TemplateRecord, error) {
	items, err := c.list(ctx, "template_library", "", fields{"search": search})
	if err != nil {
		return nil, err
	}
	out := make([]messaging.TemplateRecord, 0, len(items))
	for _, v := range items {
		t := templateOf(v)
		if err := c.wants("template_library", "", map[string]string{
			"name": t.Name, "language": t.Language, "category": t.Category}); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// TemplateDay is what a template did on one day.
type TemplateDay struct {
	Date      string `wire:"date" json:"date"` // YYYY-MM-DD in UTC
	Sent      int64  `wire:"sent" json:"sent"`
	Delivered int64  `wire:"delivered" json:"delivered"`
	Read      int64  `wire:"read" json:"read"`
}

// TemplateAnalytics returns the days from start to end, both included, of one template. The service
// has the last 90 days.
func (c *Client) TemplateAnalytics(ctx context.Context, id string, start, end time.Time) ([]TemplateDay, error) {
	return all[TemplateDay](ctx, c, "template_analytics", id, fields{"start": day(start), "end": day(end)})
}

// template makes the exchange of an operation that answers one template.
func (c *Client) template(ctx context.Context, name, id string, f fields) (messaging.TemplateRecord, error) {
	v, err := c.do(ctx, name, id, f)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	if !v.IsObject() {
		v = rawjson.Value("{}")
	}
	t := templateOf(v)
	return t, c.wants(name, id, map[string]string{
		"id": t.ID, "name": t.Name, "language": t.Language, "status": t.Status, "category": t.Category})
}

// componentsOf writes the parts of a template. A member without a value is not written.
func componentsOf(components []messaging.Component) []fields {
	out := make([]fields, 0, len(components))
	for _, c := range components {
		f := fields{"type": c.Type}
		f.set("format", c.Format)
		f.set("text", c.Text)
		example := fields{}
		if len(c.Example.HeaderHandle) > 0 {
			example["header_handle"] = c.Example.HeaderHandle
		}
		if len(c.Example.HeaderText) > 0 {
			example["header_text"] = c.Example.HeaderText
		}
		if len(c.Example.BodyText) > 0 {
			example["body_text"] = c.Example.BodyText
		}
		if len(example) > 0 {
			f["example"] = example
		}
		var buttons []fields
		for _, b := range c.Buttons {
			one := fields{"type": b.Type}
			one.set("text", b.Text)
			one.set("url", b.URL)
			one.set("phone_number", b.PhoneNumber)
			if len(b.Example) > 0 {
				one["example"] = b.Example
			}
			buttons = append(buttons, one)
		}
		if buttons != nil {
			f["buttons"] = buttons
		}
		out = append(out, f)
	}
	return out
}
