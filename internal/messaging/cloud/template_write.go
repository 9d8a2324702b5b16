package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// CreateTemplate submits a template for the account of a connection. With a name of the platform's
// library no components are sent.
func (c *Client) CreateTemplate(ctx context.Context, connectionID string, t messaging.TemplateRecord, library string) (
	messaging.TemplateRecord, error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	body := map[string]any{"name": t.Name, "language": t.Language, "category": t.Category}
	if library != "" {
		body["library_template_name"] = library
	} else {
		body["components"] = componentsOf(t.Components)
	}
	v, err := c.post(ctx, l.account.ID, l.account.ID+"/message_templates", body)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	made := templateOf(v)
	t.ID, t.Status = made.ID, made.Status
	if made.Category != "" {
		t.Category = made.Category
	}
	if !digits(t.ID) || t.Status == "" {
		return t, messaging.BadAnswer(http.StatusOK, "", "POST "+l.account.ID+"/message_templates: the answer has no id or no status", nil)
	}
	return t, c.forget(ctx, l.account.ID)
}

// EditTemplate replaces the components, the category or both of a template of the account of a
// connection, and returns it as it is then. No components and an empty category are not sent. The
// platform reviews the template again.
func (c *Client) EditTemplate(ctx context.Context, connectionID, id string, components []messaging.Component, category string) (
	messaging.TemplateRecord, error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	if !digits(id) {
		return messaging.TemplateRecord{}, fmt.Errorf("%q is not the id of a template of the Cloud API", messaging.Token(id))
	}
	body := map[string]any{}
	if components != nil {
		body["components"] = componentsOf(components)
	}
	if category != "" {
		body["category"] = category
	}
	if _, err := c.post(ctx, l.account.ID, id, body); err != nil {
		return messaging.TemplateRecord{}, err
	}
	if err := c.forget(ctx, l.account.ID); err != nil {
		return messaging.TemplateRecord{}, err
	}
	v, err := c.call(ctx, c.o.Timeout, l.account.ID,
		c.request(ctx, l.account.ID, http.MethodGet, id, url.Values{"fields": {templateFields}}))
	if err != nil {
		return messaging.TemplateRecord{}, fmt.Errorf("the template was edited, but its status was not read: %w", err)
	}
	return templateOf(v), nil
}

// DeleteTemplate removes the template of a name with an id; other languages of the name stay.
func (c *Client) DeleteTemplate(ctx context.Context, connectionID, name, id string) error {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return err
	}
	req := c.request(ctx, l.account.ID, http.MethodDelete, l.account.ID+"/message_templates", url.Values{"name": {name}, "hsm_id": {id}})
	if _, err := c.call(ctx, c.o.Timeout, l.account.ID, req); err != nil {
		return err
	}
	return c.forget(ctx, l.account.ID)
}

// TemplateSync is what differs between the last listing of templates that was kept and a new one.
type TemplateSync struct{ Added, Updated, Removed int64 }

// SyncTemplates drops the listings of templates that are kept of the account of a connection, and
// lists the templates again.
func (c *Client) SyncTemplates(ctx context.Context, connectionID string) (n TemplateSync, err error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return n, err
	}
	q := everyTemplate(l.account.ID)
	before, err := shelved(ctx, c, q, q.templates)
	if err != nil {
		return n, err
	}
	if have := c.templates.get(q.name()); have.at.After(before.at) {
		before = have
	}
	if err := c.forget(ctx, l.account.ID); err != nil {
		return n, err
	}
	all, err := c.Templates(ctx, connectionID)
	if err != nil {
		return n, err
	}
	was := map[[2]string]messaging.TemplateRecord{}
	for _, t := range before.value {
		was[[2]string{t.Name, t.Language}] = t
	}
	for _, t := range all {
		key := [2]string{t.Name, t.Language}
		switch old, known := was[key]; {
		case !known:
			n.Added++
		case !reflect.DeepEqual(old, t):
			n.Updated++
		}
		delete(was, key)
	}
	n.Removed = int64(len(was))
	return n, nil
}

// forget drops the listings of templates that are kept of an account, because one of them changed.
// Another process may use what it has in memory until layoutAge is over.
func (c *Client) forget(ctx context.Context, account string) error {
	prefix := account + "/message_templates?"
	c.templates.drop(prefix)
	c.layouts.drop(prefix)
	return c.shelf.DropListings(ctx, c.shelfPrefix()+prefix)
}

// post makes one exchange with a JSON body that sends no message.
func (c *Client) post(ctx context.Context, account, path string, body any) (rawjson.Value, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req := c.request(ctx, account, http.MethodPost, path, nil)
	req.Header.Set("Content-Type", "application/json")
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return c.call(ctx, c.o.Timeout, account, req)
}

// componentsOf writes the parts of a template. A member without a value is not written.
func componentsOf(components []messaging.Component) []messaging.Component {
	return append([]messaging.Component{}, components...) // [] in place of null
}

// textsOf is a list of texts; nil for anything else.
func textsOf(v rawjson.Value) (out []string) {
	for m := v.Members(); v.IsArray() && m.Next(); {
		out = append(out, m.Val.Text())
	}
	return out
}

// reasonOf is why a template was rejected; the platform writes NONE for the others.
func reasonOf(v rawjson.Value) string {
	if reason := v.Get("rejected_reason").Text(); !strings.EqualFold(reason, "NONE") {
		return reason
	}
	return ""
}
