package messaging

import "time"

// Message is the body of POST /api/v1/messages (docs/service.md#send-request). Its content is a
// template: campaigns send nothing else.
type Message struct {
	ConnectionID string `json:"connectionId"`
	// To is E.164 with +. Without + the platform puts the sender's country code in front
	// (docs/service.md#phone-numbers).
	To string `json:"to"`
	// ReplyTo is the messageId that this message answers.
	ReplyTo string `json:"replyTo,omitempty"`

	Template *Template `json:"template,omitempty"`

	// Mark comes back in the events of the message, if the connector can carry it; "" for none. It is
	// at most 512 characters and has no personal data.
	Mark string `json:"-"`
	// Before, if not nil, is called once a connection is there, just before the request is written. If
	// it returns an error, the request is not written.
	Before func() error `json:"-"`
	// Until, if not zero, is the last instant at which the first byte of the request may be written.
	// It is looked at after Before, and once more in the write itself.
	Until time.Time `json:"-"`
	// Written, if not nil, gets the instant at which the request was written as a whole. Nothing is
	// stored if it was not.
	Written *time.Time `json:"-"`
}

// wrote notes that the request was written.
func (m *Message) wrote() {
	if m.Written != nil {
		*m.Written = time.Now()
	}
}

// leave does what comes before the first byte of the request. An error means that it must not be
// written.
func (m *Message) leave() error {
	if m.Before != nil {
		if err := m.Before(); err != nil {
			return err
		}
	}
	if late(m.Until) {
		return ErrLate
	}
	return nil
}

// hasAsset reports whether the message refers to a stored file.
func (m *Message) hasAsset() bool {
	if m.Template == nil || m.Template.Header == nil {
		return false
	}
	h := m.Template.Header
	return h.Image != nil && h.Image.AssetID != "" || h.Video != nil && h.Video.AssetID != "" ||
		h.Document != nil && h.Document.AssetID != ""
}

// Template is the template content object.
type Template struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	// Body has the values of the positional variables, in order.
	Body    []string         `json:"body,omitempty"`
	Header  *Header          `json:"header,omitempty"`
	Buttons []TemplateButton `json:"buttons,omitempty"`
	OTP     string           `json:"otp,omitempty"`
}

// Header is one media member.
type Header struct {
	Image    *Media    `json:"image,omitempty"`
	Video    *Media    `json:"video,omitempty"`
	Document *Document `json:"document,omitempty"`
}

// TemplateButton fills one dynamic button.
type TemplateButton struct {
	// Type is url, quick_reply, copy_code or otp.
	Type string `json:"type"`
	Text string `json:"text"`
}

// Media is a media reference. At least one member is required.
type Media struct {
	// AssetID is the id of a stored asset. The document recommends it.
	AssetID string `json:"assetId,omitempty"`
	// ID is the platform's id of the file.
	ID string `json:"id,omitempty"`
	// Link is the URL of the file.
	Link string `json:"link,omitempty"`
}

// Document is a media reference plus its file name.
type Document struct {
	Media
	Filename string `json:"filename,omitempty"`
}

// Receipt says that the service has accepted a message. The message is not yet delivered.
type Receipt struct {
	// MessageID contains the recipient's number in base64, so it is personal data.
	MessageID string
	// Warning is data.warning.code: outside_service_window, unverified_service_window or "".
	Warning string
	// RequestID is the header x-request-id.
	RequestID string
}
