package messaging

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"campaignd/internal/rawjson"
)

// Templates lists the templates of the business account of a connection (GET
// /api/v1/templates?connectionId=). Path and fields are assumed (docs/service.md#assumptions). The
// error is ErrNotOffered if the service answers 405, 501, or 404 for another reason than an unknown
// connection.
func (c *Client) Templates(ctx context.Context, connectionID string) ([]TemplateRecord, error) {
	items, err := c.list(ctx, c.assumed.TemplatesPath, url.Values{"connectionId": {connectionID}}.Encode())
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == NotFound {
			return nil, err
		}
		return nil, notOffered(err)
	}
	out := make([]TemplateRecord, 0, len(items))
	for _, v := range items {
		r := recordOf(templateFields, v)
		t := TemplateRecord{
			Name: r.text("name"), Language: FoldLanguage(r.text("language")),
			Status: strings.ToUpper(r.text("status")), Category: strings.ToUpper(r.text("category")),
		}
		for m := r.get("components").Members(); m.Next(); {
			t.Components = append(t.Components, componentOf(m.Val))
		}
		out = append(out, t)
	}
	return out, nil
}

func componentOf(v rawjson.Value) Component {
	r := recordOf(componentFields, v)
	c := Component{Type: strings.ToUpper(r.text("type")), Format: strings.ToUpper(r.text("format")), Text: r.text("text")}
	for m := r.get("buttons").Members(); m.Next(); {
		b := recordOf(buttonFields, m.Val)
		c.Buttons = append(c.Buttons, ComponentButton{Type: strings.ToUpper(b.text("type")), Text: b.text("text"), URL: b.text("url")})
	}
	return c
}
