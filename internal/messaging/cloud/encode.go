package cloud

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strconv"

	"campaignd/internal/messaging"
)

// outgoing is the body of POST /{phone-number-id}/messages for a template (docs/cloud.md#send).
type outgoing struct {
	Product   string   `json:"messaging_product"`
	Recipient string   `json:"recipient_type"`
	To        string   `json:"to"`
	Type      string   `json:"type"`
	Template  template `json:"template"`
	Mark      string   `json:"biz_opaque_callback_data,omitempty"`
}

type template struct {
	Name       string      `json:"name"`
	Language   language    `json:"language"`
	Components []component `json:"components,omitempty"`
}

type language struct {
	Code string `json:"code"`
}

// component fills one part of the template. Index is the button's position in the template, from 0.
type component struct {
	Type       string      `json:"type"`
	SubType    string      `json:"sub_type,omitempty"`
	Index      string      `json:"index,omitempty"`
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Type       string    `json:"type"`
	Name       string    `json:"parameter_name,omitempty"`
	Text       string    `json:"text,omitempty"`
	Payload    string    `json:"payload,omitempty"`
	CouponCode string    `json:"coupon_code,omitempty"`
	Image      *mediaRef `json:"image,omitempty"`
	Video      *mediaRef `json:"video,omitempty"`
	Document   *mediaRef `json:"document,omitempty"`
}

type mediaRef struct {
	ID       string `json:"id,omitempty"`
	Link     string `json:"link,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// The longest mark, in characters (docs/cloud.md#send).
const maxMark = 512

var errMark = errors.New("the mark is longer than 512 characters")

// encode writes a template message. t is the template as the account lists it.
func encode(m *messaging.Message, t *messaging.TemplateRecord) ([]byte, error) {
	if len(m.Mark) > maxMark {
		return nil, errMark
	}
	parts, err := components(m.Template, t)
	if err != nil {
		return nil, err
	}
	out := outgoing{Product: "whatsapp", Recipient: "individual", To: m.To, Type: "template", Mark: m.Mark,
		Template: template{Name: m.Template.Name, Language: language{m.Template.Language}, Components: parts}}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func components(m *messaging.Template, t *messaging.TemplateRecord) (parts []component, err error) {
	if p, ok := headerOf(m.Header); ok {
		parts = append(parts, component{Type: "header", Parameters: []parameter{p}})
	}
	body := m.Body
	if m.OTP != "" {
		body = []string{m.OTP} // an authentication template wants its code twice: in the body and in the button
	}
	if len(body) > 0 {
		part, names := component{Type: "body"}, named(t.Component("BODY").Variables())
		for i, text := range body {
			p := parameter{Type: "text", Text: text}
			if i < len(names) {
				p.Name = names[i]
			}
			part.Parameters = append(part.Parameters, p)
		}
		parts = append(parts, part)
	}
	buttons := m.Buttons
	if m.OTP != "" {
		buttons = []messaging.TemplateButton{{Type: "otp", Text: m.OTP}}
	}
	used := map[int]bool{}
	for i, b := range buttons {
		at, ok := position(b.Type, t.Component("BUTTONS").Buttons, used)
		if !ok && len(t.Components) > 0 {
			return nil, errors.New("the template has no button of the kind " + b.Type + " left to fill")
		}
		if !ok {
			at = i // the template is not listed; the platform says why it refuses
		}
		used[at] = true
		parts = append(parts, buttonOf(b, at))
	}
	return parts, nil
}

// named returns the variables if they are names. Positional ones are numbers.
func named(variables []string) []string {
	for _, v := range variables {
		if _, err := strconv.Atoi(v); err == nil {
			return nil
		}
	}
	return variables
}

// position finds the next button of the template that the kind fills.
func position(kind string, buttons []messaging.ComponentButton, used map[int]bool) (int, bool) {
	for i, b := range buttons {
		fills := false
		switch kind {
		case "url":
			fills = b.Type == "URL" && len(b.Variables()) > 0
		case "quick_reply":
			fills = b.Type == "QUICK_REPLY"
		case "copy_code":
			fills = b.Type == "COPY_CODE"
		case "otp":
			fills = b.Type == "OTP" || b.Type == "URL" && len(b.Variables()) > 0
		}
		if fills && !used[i] {
			return i, true
		}
	}
	return 0, false
}

func buttonOf(b messaging.TemplateButton, at int) component {
	part := component{Type: "button", SubType: b.Type, Index: strconv.Itoa(at)}
	switch b.Type {
	case "quick_reply":
		part.Parameters = []parameter{{Type: "payload", Payload: b.Text}}
	case "copy_code":
		part.Parameters = []parameter{{Type: "coupon_code", CouponCode: b.Text}}
	default:
		part.SubType = "url"
		part.Parameters = []parameter{{Type: "text", Text: b.Text}}
	}
	return part
}

func headerOf(h *messaging.Header) (parameter, bool) {
	switch {
	case h == nil:
	case h.Image != nil:
		return parameter{Type: "image", Image: refOf(h.Image, "")}, true
	case h.Video != nil:
		return parameter{Type: "video", Video: refOf(h.Video, "")}, true
	case h.Document != nil:
		return parameter{Type: "document", Document: refOf(&h.Document.Media, h.Document.Filename)}, true
	}
	return parameter{}, false
}

// refOf refers to a file. An asset of this connector is a media id of the platform.
func refOf(m *messaging.Media, filename string) *mediaRef {
	id := cmp.Or(m.AssetID, m.ID)
	return &mediaRef{ID: id, Link: m.Link, Filename: filename}
}
