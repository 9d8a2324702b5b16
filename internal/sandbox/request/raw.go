package request

import (
	"encoding/json"
	"net/url"
	"strings"

	"campaignd/internal/sandbox/area"
)

// Unwrap turns the raw content {"type": "template", ...} into the content template, because the
// document's rules about templates hold for it too. Other raw content stays as it is.
func (m *Message) Unwrap() {
	if m.Raw == nil || m.Template != nil {
		return // before the struct, which costs an allocation
	}
	var in struct {
		Type     string
		Template struct {
			Name       string
			Language   struct{ Code string }
			Components []Component
		}
	}
	if json.Unmarshal(m.Raw, &in) != nil || in.Type != "template" {
		return
	}
	t := &Template{Name: in.Template.Name, Language: in.Template.Language.Code, native: true}
	for _, c := range in.Template.Components {
		switch strings.ToLower(c.Type) {
		case "header":
			t.Header = HeaderOf(c.Parameters)
			for _, p := range c.Parameters {
				if p.Type == "text" {
					t.headerText = append(t.headerText, p.Text)
				}
			}
		case "body":
			t.Body = append(t.Body, texts(c.Parameters)...)
		case "button":
			b := Button{Type: c.SubType}
			for _, p := range c.Parameters {
				b.Text += p.Text + p.Payload + p.CouponCode
			}
			t.Buttons = append(t.Buttons, b)
		default:
			t.flaw = area.RefusePlatform(131009, "raw: unknown component "+c.Type)
		}
	}
	m.Template, m.Raw = t, nil
}

// Flow returns the id and the mode of the flow that a raw content sends. ok is false if it sends
// none.
func (m *Message) Flow() (id, mode string, ok bool) {
	if m.Raw == nil {
		return "", "", false
	}
	var in struct {
		Type        string
		Interactive struct {
			Type   string
			Action struct {
				Parameters struct {
					FlowID string `json:"flow_id"`
					Mode   string
				}
			}
		}
	}
	if json.Unmarshal(m.Raw, &in) != nil || in.Type != "interactive" || in.Interactive.Type != "flow" {
		return "", "", false
	}
	p := in.Interactive.Action.Parameters
	return p.FlowID, p.Mode, true
}

func texts(params []Parameter) (values []string) {
	for _, p := range params {
		values = append(values, p.Text)
	}
	return values
}

// OneTimeCode turns the code of an AUTHENTICATION template into otp. The platform's own form has it
// in the body and in the button.
func (t *Template) OneTimeCode(category string) {
	if t.native && category == "AUTHENTICATION" && len(t.Body) == 1 && len(t.Buttons) == 1 && t.Buttons[0].Text == t.Body[0] {
		t.OTP, t.Body, t.Buttons = &t.Body[0], nil, nil
	}
}

// FileRefusal is the platform's refusal of a link that is no address, or of a stored file of
// another kind than its field. It returns nil if there is none. stored returns the type of a file.
func (m *Message) FileRefusal(stored func(id string) string) *area.Refusal {
	fields := [...]struct {
		name string
		ref  *Media
	}{{"image", m.Image}, {"video", m.Video}, {"audio", m.Audio}, {"sticker", m.Sticker}, {}, {}, {}, {}}
	if m.Document != nil {
		fields[4].name, fields[4].ref = "document", &m.Document.Media
	}
	if m.Template != nil && m.Template.Header != nil {
		h := m.Template.Header
		fields[5].name, fields[5].ref = "image", h.Image
		fields[6].name, fields[6].ref = "video", h.Video
		if h.Document != nil {
			fields[7].name, fields[7].ref = "document", &h.Document.Media
		}
	}
	for _, f := range fields {
		switch {
		case f.ref == nil:
		case f.ref.Link != "" && !addressed(f.ref.Link):
			return area.RefusePlatform(131009, f.name+": link is not an http(s) address")
		case f.ref.AssetID != "" && !area.Fits(stored(f.ref.AssetID), f.name):
			return area.RefusePlatform(131053, f.name+": the file is "+stored(f.ref.AssetID))
		}
	}
	return nil
}

// addressed reports whether a text is an http or https address.
func addressed(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// interactive returns the platform's refusal of an address or of the number of rows of a list.
func (m *Message) interactive() *area.Refusal {
	if m.CTA != nil && !addressed(m.CTA.URL) {
		return area.RefusePlatform(131009, "cta: url is not an http(s) address")
	}
	if m.List != nil {
		rows := 0
		for _, s := range m.List.Sections {
			rows += len(s.Rows)
		}
		switch {
		case rows == 0:
			return area.RefusePlatform(131008, "list: rows")
		case rows > 10:
			return area.RefusePlatform(131009, "list: at most 10 rows")
		}
	}
	return nil
}
