package request

import (
	"encoding/json"

	"campaignd/internal/sandbox/area"
)

// The types below are the send request as the document describes it. Each refuses a member that the
// document does not name in exactly this spelling. encoding/json alone would also accept
// "connectionID".

// Message is the body of POST /api/v1/messages (docs/service.md#send-request). The document does
// not show the members of a json.RawMessage.
type Message struct {
	ConnectionID    string
	To              string
	ReplyTo         string
	Template        *Template
	Text            *string
	Image           *Media
	Video           *Media
	Audio           *Media
	Sticker         *Media
	Document        *Document
	Location        *location
	Contacts        json.RawMessage
	Reaction        json.RawMessage
	Buttons         *replyButtons
	List            *listContent
	CTA             *cta
	LocationRequest json.RawMessage
	Raw             json.RawMessage
}

// Template is the content template.
type Template struct {
	Name     string
	Language string
	Body     []string
	Header   *Header
	Buttons  []Button
	OTP      *string

	// A raw template has these besides (raw.go).
	native     bool
	headerText []string
	flaw       *area.Refusal
}

// Header is the header of a template: one file.
type Header struct {
	Image    *Media
	Video    *Media
	Document *Document
}

// Button is the value of a button of a template.
type Button struct{ Type, Text string }

// Media names a file: at least one of the three is set.
type Media struct{ AssetID, ID, Link string }

// Document is a file with the name that the recipient sees.
type Document struct {
	Media
	Filename string
}

type location struct {
	Latitude, Longitude *float64
	Name, Address       string
}

type replyButtons struct {
	Body, Footer string
	Buttons      []replyButton
}

type replyButton struct{ ID, Title string }

type listContent struct {
	Body, Button string
	Sections     []listSection
}

type listSection struct {
	Title string
	Rows  []listRow
}

type listRow struct{ ID, Title, Description string }

type cta struct{ Body, DisplayText, URL string }

// Decode reads a request body.
func (m *Message) Decode(raw []byte) error {
	return decodeObject(raw, "body",
		field{"connectionId", &m.ConnectionID}, field{"to", &m.To}, field{"replyTo", &m.ReplyTo},
		field{"template", &m.Template}, field{"text", &m.Text},
		field{"image", &m.Image}, field{"video", &m.Video}, field{"audio", &m.Audio}, field{"sticker", &m.Sticker},
		field{"document", &m.Document}, field{"location", &m.Location}, field{"contacts", &m.Contacts},
		field{"reaction", &m.Reaction}, field{"buttons", &m.Buttons}, field{"list", &m.List}, field{"cta", &m.CTA},
		field{"locationRequest", &m.LocationRequest}, field{"raw", &m.Raw})
}

// UnmarshalJSON reads a content template, and no other member.
func (t *Template) UnmarshalJSON(raw []byte) error {
	return members(raw, "template",
		field{"name", &t.Name}, field{"language", &t.Language}, field{"body", &t.Body},
		field{"header", &t.Header}, field{"buttons", &t.Buttons}, field{"otp", &t.OTP})
}

// UnmarshalJSON reads a header, and no other member.
func (h *Header) UnmarshalJSON(raw []byte) error {
	return members(raw, "header", field{"image", &h.Image}, field{"video", &h.Video}, field{"document", &h.Document})
}

// UnmarshalJSON reads a button, and no other member.
func (b *Button) UnmarshalJSON(raw []byte) error {
	return members(raw, "button", field{"type", &b.Type}, field{"text", &b.Text})
}

// UnmarshalJSON reads a media reference, and no other member.
func (m *Media) UnmarshalJSON(raw []byte) error {
	return members(raw, "media", field{"assetId", &m.AssetID}, field{"id", &m.ID}, field{"link", &m.Link})
}

// UnmarshalJSON reads a document, and no other member.
func (d *Document) UnmarshalJSON(raw []byte) error {
	return members(raw, "document",
		field{"assetId", &d.AssetID}, field{"id", &d.ID}, field{"link", &d.Link}, field{"filename", &d.Filename})
}

func (l *location) UnmarshalJSON(raw []byte) error {
	return members(raw, "location",
		field{"latitude", &l.Latitude}, field{"longitude", &l.Longitude}, field{"name", &l.Name}, field{"address", &l.Address})
}

func (b *replyButtons) UnmarshalJSON(raw []byte) error {
	return members(raw, "buttons", field{"body", &b.Body}, field{"footer", &b.Footer}, field{"buttons", &b.Buttons})
}

func (b *replyButton) UnmarshalJSON(raw []byte) error {
	return members(raw, "button", field{"id", &b.ID}, field{"title", &b.Title})
}

func (l *listContent) UnmarshalJSON(raw []byte) error {
	return members(raw, "list", field{"body", &l.Body}, field{"button", &l.Button}, field{"sections", &l.Sections})
}

func (s *listSection) UnmarshalJSON(raw []byte) error {
	return members(raw, "section", field{"title", &s.Title}, field{"rows", &s.Rows})
}

func (r *listRow) UnmarshalJSON(raw []byte) error {
	return members(raw, "row", field{"id", &r.ID}, field{"title", &r.Title}, field{"description", &r.Description})
}

func (c *cta) UnmarshalJSON(raw []byte) error {
	return members(raw, "cta", field{"body", &c.Body}, field{"displayText", &c.DisplayText}, field{"url", &c.URL})
}

// Contents counts the content fields that are set. kind is the name of the last of them.
func (m *Message) Contents() (n int, kind string) {
	has := func(present bool, name string) {
		if present {
			n, kind = n+1, name
		}
	}
	has(m.Template != nil, "template")
	has(m.Text != nil, "text")
	has(m.Image != nil, "image")
	has(m.Video != nil, "video")
	has(m.Audio != nil, "audio")
	has(m.Sticker != nil, "sticker")
	has(m.Document != nil, "document")
	has(m.Location != nil, "location")
	has(m.Contacts != nil, "contacts")
	has(m.Reaction != nil, "reaction")
	has(m.Buttons != nil, "buttons")
	has(m.List != nil, "list")
	has(m.CTA != nil, "cta")
	has(m.LocationRequest != nil, "locationRequest")
	has(m.Raw != nil, "raw")
	return n, kind
}

// EachMedia calls yield with each media reference of the message, until yield returns a refusal,
// and returns that refusal.
func (m *Message) EachMedia(yield func(*Media) *area.Refusal) *area.Refusal {
	refs := []*Media{m.Image, m.Video, m.Audio, m.Sticker}
	if m.Document != nil {
		refs = append(refs, &m.Document.Media)
	}
	if m.Template != nil && m.Template.Header != nil {
		h := m.Template.Header
		refs = append(refs, h.Image, h.Video)
		if h.Document != nil {
			refs = append(refs, &h.Document.Media)
		}
	}
	for _, ref := range refs {
		if ref == nil {
			continue
		}
		if r := yield(ref); r != nil {
			return r
		}
	}
	return nil
}

// The refusals of Shape. The document does not show that with *.
var (
	refuseFields      = *area.Refuse(400, "missing_fields", "connectionId and to are required.")
	refuseContent     = *area.Refuse(400, "missing_content", "Pass exactly one content field.")
	refuseTwoContents = *area.Refuse(400, "multiple_content", "Pass exactly one content field.") // *
	refuseMedia       = *area.Refuse(400, "invalid_media", "A media reference needs assetId, id or link.")
	refuseLocation    = *area.Refuse(400, "invalid_location", "A location needs latitude and longitude.")
	refuseButton      = *area.Refuse(400, "invalid_button", "A template button is one of url, quick_reply, copy_code, otp.")
)

// Shape checks the message alone, without the state of the account: rules 1 and 2 of
// docs/service.md#send-request and the errors that begin with invalid_.
func (m *Message) Shape() *area.Refusal {
	if m.ConnectionID == "" || m.To == "" {
		return &refuseFields
	}
	n, _ := m.Contents()
	switch {
	case n == 0:
		return &refuseContent
	case n > 1:
		return &refuseTwoContents
	}
	if r := m.EachMedia(func(ref *Media) *area.Refusal {
		if ref.AssetID == "" && ref.ID == "" && ref.Link == "" {
			return &refuseMedia
		}
		return nil
	}); r != nil {
		return r
	}
	if l := m.Location; l != nil && (l.Latitude == nil || l.Longitude == nil) {
		return &refuseLocation
	}
	if m.Template != nil {
		for _, b := range m.Template.Buttons {
			switch b.Type {
			case "url", "quick_reply", "copy_code", "otp":
			default:
				return &refuseButton
			}
		}
	}
	return nil
}

// PlatformShape makes the platform's checks of free-form content (docs/service.md#templates).
func (m *Message) PlatformShape() *area.Refusal {
	missing := func(what string) *area.Refusal { return area.RefusePlatform(131008, what) }
	invalid := func(what string) *area.Refusal { return area.RefusePlatform(131009, what) }
	switch {
	case m.Template != nil && (m.Template.Name == "" || m.Template.Language == ""):
		return missing("template name and language")
	case m.Template != nil && m.Template.flaw != nil:
		return m.Template.flaw
	case m.Text != nil && *m.Text == "":
		return missing("text")
	case m.Text != nil && len([]rune(*m.Text)) > 4096:
		return invalid("text is longer than 4096 characters")
	case m.Location != nil && (*m.Location.Latitude < -90 || *m.Location.Latitude > 90 ||
		*m.Location.Longitude < -180 || *m.Location.Longitude > 180):
		return invalid("location")
	case m.Buttons != nil && (m.Buttons.Body == "" || len(m.Buttons.Buttons) == 0):
		return missing("buttons: body and buttons")
	case m.Buttons != nil && len(m.Buttons.Buttons) > 3:
		return invalid("buttons: at most 3")
	case m.List != nil && (m.List.Body == "" || m.List.Button == "" || len(m.List.Sections) == 0):
		return missing("list: body, button and sections")
	case m.CTA != nil && (m.CTA.Body == "" || m.CTA.DisplayText == "" || m.CTA.URL == ""):
		return missing("cta: body, displayText and url")
	}
	if m.Buttons != nil {
		for _, b := range m.Buttons.Buttons {
			if b.ID == "" || b.Title == "" {
				return missing("buttons: id and title")
			}
		}
	}
	if m.List != nil {
		for _, s := range m.List.Sections {
			for _, r := range s.Rows {
				if r.ID == "" || r.Title == "" {
					return missing("list: row id and title")
				}
			}
		}
	}
	return m.interactive()
}
