package messaging

import (
	"encoding/json"
	"slices"
)

// Message is the body of POST /api/v1/messages (seed 000, "Send request"). Exactly
// one content field is set.
type Message struct {
	ConnectionID    string          `json:"connectionId"`
	To              string          `json:"to"` // E.164 with +: without it the sender's country code is prepended (platform.md 6.4)
	ReplyTo         string          `json:"replyTo,omitempty"`
	Template        *Template       `json:"template,omitempty"`
	Text            *string         `json:"text,omitempty"`
	Image           *Media          `json:"image,omitempty"`
	Video           *Media          `json:"video,omitempty"`
	Audio           *Media          `json:"audio,omitempty"`
	Sticker         *Media          `json:"sticker,omitempty"`
	Document        *Document       `json:"document,omitempty"`
	Location        *Location       `json:"location,omitempty"`
	Contacts        json.RawMessage `json:"contacts,omitempty"` // member shape: not shown
	Reaction        json.RawMessage `json:"reaction,omitempty"` // member shape: not shown
	Buttons         *ReplyButtons   `json:"buttons,omitempty"`
	List            *List           `json:"list,omitempty"`
	CTA             *CTA            `json:"cta,omitempty"`
	LocationRequest json.RawMessage `json:"locationRequest,omitempty"` // member shape: not shown
	Raw             json.RawMessage `json:"raw,omitempty"`
}

// hasAsset reports whether the message refers to a stored file.
func (m *Message) hasAsset() bool {
	refs := []*Media{m.Image, m.Video, m.Audio, m.Sticker}
	documents := []*Document{m.Document}
	if m.Template != nil && m.Template.Header != nil {
		h := m.Template.Header
		refs, documents = append(refs, h.Image, h.Video), append(documents, h.Document)
	}
	for _, d := range documents {
		if d != nil {
			refs = append(refs, &d.Media)
		}
	}
	return slices.ContainsFunc(refs, func(r *Media) bool { return r != nil && r.AssetID != "" })
}

// Template is the template content object.
type Template struct {
	Name     string           `json:"name"`
	Language string           `json:"language"`
	Body     []string         `json:"body,omitempty"` // positional variables in order
	Header   *Header          `json:"header,omitempty"`
	Buttons  []TemplateButton `json:"buttons,omitempty"`
	OTP      string           `json:"otp,omitempty"`
}

// Header is one media member.
type Header struct {
	Image    *Media    `json:"image,omitempty"`
	Video    *Media    `json:"video,omitempty"`
	Document *Document `json:"document,omitempty"`
}

// TemplateButton fills one dynamic button.
type TemplateButton struct {
	Type string `json:"type"` // url, quick_reply, copy_code, otp
	Text string `json:"text"`
}

// Media is a media reference: at least one member is required.
type Media struct {
	AssetID string `json:"assetId,omitempty"` // stored asset, recommended
	ID      string `json:"id,omitempty"`      // platform media id
	Link    string `json:"link,omitempty"`    // URL
}

// Document is a media reference plus its file name.
type Document struct {
	Media
	Filename string `json:"filename,omitempty"`
}

// Location is a place; latitude and longitude are required.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name,omitempty"`
	Address   string  `json:"address,omitempty"`
}

// ReplyButtons is an interactive message with reply buttons.
type ReplyButtons struct {
	Body    string        `json:"body"`
	Footer  string        `json:"footer,omitempty"`
	Buttons []ReplyButton `json:"buttons"`
}

// ReplyButton is one reply button.
type ReplyButton struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// List is an interactive list.
type List struct {
	Body     string        `json:"body"`
	Button   string        `json:"button"`
	Sections []ListSection `json:"sections"`
}

// ListSection is a titled group of rows.
type ListSection struct {
	Title string    `json:"title"`
	Rows  []ListRow `json:"rows"`
}

// ListRow is one choice.
type ListRow struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// CTA is a call-to-action URL button.
type CTA struct {
	Body        string `json:"body"`
	DisplayText string `json:"displayText"`
	URL         string `json:"url"`
}

// Receipt is the service's acceptance of one message: it is accepted, not delivered.
type Receipt struct {
	MessageID string // wamid; decodes to the recipient's number, so it is personal data
	Warning   string // data.warning.code: outside_service_window or unverified_service_window
	RequestID string // x-request-id
}
