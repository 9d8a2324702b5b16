package messaging

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// TemplateRecord is a template as the service lists it.
type TemplateRecord struct {
	ID         string
	Name       string
	Language   string // as sends write it: en_US
	Status     string // upper case: APPROVED, PAUSED, DISABLED, REJECTED, PENDING
	Category   string // upper case: AUTHENTICATION, MARKETING, UTILITY
	Components []Component
}

// Component is one part of a template.
type Component struct {
	Type    string // upper case: HEADER, BODY, FOOTER, BUTTONS
	Format  string // of a header, upper case: TEXT, IMAGE, VIDEO, DOCUMENT, LOCATION
	Text    string
	Buttons []ComponentButton
}

// ComponentButton is one button of a template.
type ComponentButton struct {
	Type string // upper case: URL, QUICK_REPLY, PHONE_NUMBER, COPY_CODE, OTP ...
	Text string // label
	URL  string // with at most one variable, at its end
}

// Templates lists the templates of a connection's business account (GET /api/v1/templates?connectionId=; path and fields are
// assumed). errors.Is(err, ErrNotOffered) when the service answers 404 to a path it does not know.
func (c *Client) Templates(ctx context.Context, connectionID string) ([]TemplateRecord, error) {
	items, err := c.list(ctx, c.assumed.TemplatesPath, "connectionId="+url.QueryEscape(connectionID))
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == codeNotFound {
			return nil, err
		}
		return nil, notOffered(err)
	}
	out := make([]TemplateRecord, 0, len(items))
	for _, v := range items {
		r := c.assumed.record("templates", templateFields, v)
		t := TemplateRecord{
			ID: r.text("id"), Name: r.text("name"), Language: FoldLanguage(r.text("language")),
			Status: strings.ToUpper(r.text("status")), Category: strings.ToUpper(r.text("category")),
		}
		for m := r.get("components").members(); m.next(); {
			t.Components = append(t.Components, component(m.val))
		}
		out = append(out, t)
	}
	return out, nil
}

func component(v value) Component {
	c := Component{
		Type: strings.ToUpper(v.get("type").text()), Format: strings.ToUpper(v.get("format").text()), Text: v.get("text").text(),
	}
	for m := v.get("buttons").members(); m.next(); {
		c.Buttons = append(c.Buttons, ComponentButton{
			Type: strings.ToUpper(m.val.get("type").text()), Text: m.val.get("text").text(), URL: m.val.get("url").text(),
		})
	}
	return c
}

// Component returns the part of that type, or the zero Component.
func (t *TemplateRecord) Component(kind string) Component {
	for _, c := range t.Components {
		if c.Type == kind {
			return c
		}
	}
	return Component{}
}

// Variables lists the placeholders of the component's text in order of first
// appearance, each once: "1", "2" ..., or names for a template with named parameters.
func (c Component) Variables() []string { return variables(c.Text) }

// Variables lists the placeholders of the button's URL.
func (b ComponentButton) Variables() []string { return variables(b.URL) }

var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}`)

func variables(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, m[1])
		}
	}
	return out
}

// FoldLanguage writes a language as sends do: webhooks say en-US where sends say en_US (platform.md 4.5).
func FoldLanguage(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "-", "_") }
