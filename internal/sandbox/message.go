package sandbox

import "campaignd/internal/sandbox/area"

import "encoding/json"

// The types below are the send request as the document describes it. Each refuses a member that the
// document does not name in exactly this spelling. encoding/json alone would also accept
// "connectionID".

// message is the body of POST /api/v1/messages (docs/service.md#send-request). The document does
// not show the members of a json.RawMessage.
type message struct {
	ConnectionID    string
	To              string
	ReplyTo         string
	Template        *templateContent
	Text            *string
	Image           *media
	Video           *media
	Audio           *media
	Sticker         *media
	Document        *document
	Location        *location
	Contacts        json.RawMessage
	Reaction        json.RawMessage
	Buttons         *replyButtons
	List            *listContent
	CTA             *cta
	LocationRequest json.RawMessage
	Raw             json.RawMessage
}

type templateContent struct {
	Name     string
	Language string
	Body     []string
	Header   *header
	Buttons  []templateButton
	OTP      *string

	// A raw template has these besides (raw.go).
	native     bool
	headerText []string
	flaw       *refusal
}

type header struct {
	Image    *media
	Video    *media
	Document *document
}

type templateButton struct{ Type, Text string }

type media struct{ AssetID, ID, Link string }

type document struct {
	media
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

// decode reads a request body.
func (m *message) decode(raw []byte) error {
	return decodeObject(raw, "body",
		field{"connectionId", &m.ConnectionID}, field{"to", &m.To}, field{"replyTo", &m.ReplyTo},
		field{"template", &m.Template}, field{"text", &m.Text},
		field{"image", &m.Image}, field{"video", &m.Video}, field{"audio", &m.Audio}, field{"sticker", &m.Sticker},
		field{"document", &m.Document}, field{"location", &m.Location}, field{"contacts", &m.Contacts},
		field{"reaction", &m.Reaction}, field{"buttons", &m.Buttons}, field{"list", &m.List}, field{"cta", &m.CTA},
		field{"locationRequest", &m.LocationRequest}, field{"raw", &m.Raw})
}

func (t *templateContent) UnmarshalJSON(raw []byte) error {
	return members(raw, "template",
		field{"name", &t.Name}, field{"language", &t.Language}, field{"body", &t.Body},
		field{"header", &t.Header}, field{"buttons", &t.Buttons}, field{"otp", &t.OTP})
}

func (h *header) UnmarshalJSON(raw []byte) error {
	return members(raw, "header", field{"image", &h.Image}, field{"video", &h.Video}, field{"document", &h.Document})
}

func (b *templateButton) UnmarshalJSON(raw []byte) error {
	return members(raw, "button", field{"type", &b.Type}, field{"text", &b.Text})
}

func (m *media) UnmarshalJSON(raw []byte) error {
	return members(raw, "media", field{"assetId", &m.AssetID}, field{"id", &m.ID}, field{"link", &m.Link})
}

func (d *document) UnmarshalJSON(raw []byte) error {
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

// contents counts the content fields that are set. kind is the name of the last of them.
func (m *message) contents() (n int, kind string) {
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

// media calls yield with each media reference of the message, until yield returns a refusal, and
// returns that refusal.
func (m *message) media(yield func(*media) *refusal) *refusal {
	refs := []*media{m.Image, m.Video, m.Audio, m.Sticker}
	if m.Document != nil {
		refs = append(refs, &m.Document.media)
	}
	if m.Template != nil && m.Template.Header != nil {
		h := m.Template.Header
		refs = append(refs, h.Image, h.Video)
		if h.Document != nil {
			refs = append(refs, &h.Document.media)
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

// shape checks the message alone, without the state of the account: rules 1 and 2 of
// docs/service.md#send-request and the errors that begin with invalid_.
func (m *message) shape() *refusal {
	if m.ConnectionID == "" || m.To == "" {
		return &refuseFields
	}
	n, _ := m.contents()
	switch {
	case n == 0:
		return &refuseContent
	case n > 1:
		return &refuseTwoContents
	}
	if r := m.media(func(ref *media) *refusal {
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

// platformShape makes the platform's checks of free-form content (docs/service.md#templates).
func (m *message) platformShape() *refusal {
	missing := func(what string) *refusal { return area.RefusePlatform(131008, what) }
	invalid := func(what string) *refusal { return area.RefusePlatform(131009, what) }
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
