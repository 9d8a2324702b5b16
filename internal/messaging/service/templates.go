package service

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// Templates lists the templates of the business account of a connection (GET
// /api/v1/templates?connectionId=). Path and fields are assumed (docs/service.md#assumptions). The
// error is ErrNotOffered if the service answers 405, 501, or 404 for another reason than an unknown
// connection.
func (c *Client) Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error) {
	items, err := c.list(ctx, c.assumed.TemplatesPath, url.Values{"connectionId": {connectionID}}.Encode())
	if err != nil {
		var e *messaging.Error
		if errors.As(err, &e) && e.Code == messaging.NotFound {
			return nil, err
		}
		return nil, notOffered(err)
	}
	out := make([]messaging.TemplateRecord, 0, len(items))
	for _, v := range items {
		r := recordOf(templateFields, v)
		t := messaging.TemplateRecord{
			Name: r.text("name"), Language: messaging.FoldLanguage(r.text("language")),
			Status: strings.ToUpper(r.text("status")), Category: strings.ToUpper(r.text("category")),
		}
		for m := r.get("components").Members(); m.Next(); {
			t.Components = append(t.Components, componentOf(m.Val))
		}
		out = append(out, t)
	}
	return out, nil
}

func componentOf(v rawjson.Value) messaging.Component {
	r := recordOf(componentFields, v)
	c := messaging.Component{Type: strings.ToUpper(r.text("type")), Format: strings.ToUpper(r.text("format")), Text: r.text("text")}
	for m := r.get("buttons").Members(); m.Next(); {
		b := recordOf(buttonFields, m.Val)
		c.Buttons = append(c.Buttons, messaging.ComponentButton{Type: strings.ToUpper(b.text("type")), Text: b.text("text"), URL: b.text("url")})
	}
	return c
}
