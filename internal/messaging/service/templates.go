package service

import (
	"context"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// Templates lists the templates of the business account of a connection (GET
// /api/v1/templates?connectionId=). Path and fields are assumed (docs/service.md#assumptions). The
// error is ErrNotOffered if the service answers 405, 501, or 404 for another reason than an unknown
// connection.
func (c *Client) Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error) {
	items, err := c.list(ctx, "templates", "", fields{"connectionId": connectionID})
	if err != nil {
		return nil, err
	}
	out := make([]messaging.TemplateRecord, 0, len(items))
	for _, v := range items {
		out = append(out, templateOf(v))
	}
	return out, nil
}

func templateOf(v rawjson.Value) messaging.TemplateRecord {
	r := recordOf(templateFields, v)
	t := messaging.TemplateRecord{
		ID: r.text("id"), Name: r.text("name"), Language: messaging.FoldLanguage(r.text("language")),
		Status: strings.ToUpper(r.text("status")), Category: strings.ToUpper(r.text("category")), Reason: r.text("reason"),
	}
	for m := r.get("components").Members(); m.Next(); {
		t.Components = append(t.Components, componentOf(m.Val))
	}
	return t
}

func componentOf(v rawjson.Value) messaging.Component {
	r := recordOf(componentFields, v)
	c := messaging.Component{Type: strings.ToUpper(r.text("type")), Format: strings.ToUpper(r.text("format")), Text: r.text("text")}
	e := recordOf(exampleFields, r.get("example"))
	c.Example.HeaderHandle, c.Example.HeaderText = texts(e.get("header_handle")), texts(e.get("header_text"))
	for m := e.get("body_text").Members(); m.Next(); {
		c.Example.BodyText = append(c.Example.BodyText, texts(m.Val))
	}
	for m := r.get("buttons").Members(); m.Next(); {
		b := recordOf(buttonFields, m.Val)
		c.Buttons = append(c.Buttons, messaging.ComponentButton{Type: strings.ToUpper(b.text("type")), Text: b.text("text"), URL: b.text("url"),
			PhoneNumber: b.text("phone_number"), Example: texts(b.get("example"))})
	}
	return c
}

// texts is a list of texts; nil for anything else.
func texts(v rawjson.Value) []string {
	if !v.IsArray() {
		return nil
	}
	var out []string
	for m := v.Members(); m.Next(); {
		out = append(out, m.Val.Text())
	}
	return out
}
