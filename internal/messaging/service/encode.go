package service

import (
	"unicode/utf8"

	"campaignd/internal/messaging"
)

// appendMessage appends m as encoding/json would write it, at a fraction of the cost
// (FuzzAppendMessage).
func appendMessage(b []byte, m *messaging.Message) []byte {
	b = append(b, `{"connectionId":`...)
	b = appendString(b, m.ConnectionID)
	b = append(b, `,"to":`...)
	b = appendString(b, m.To)
	if m.ReplyTo != "" {
		b = append(b, `,"replyTo":`...)
		b = appendString(b, m.ReplyTo)
	}
	b = append(b, `,"template":`...)
	b = appendTemplate(b, m.Template)
	return append(b, '}')
}

func appendTemplate(b []byte, t *messaging.Template) []byte {
	b = append(b, `{"name":`...)
	b = appendString(b, t.Name)
	b = append(b, `,"language":`...)
	b = appendString(b, t.Language)
	if len(t.Body) > 0 {
		b = append(b, `,"body":[`...)
		for i, s := range t.Body {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, s)
		}
		b = append(b, ']')
	}
	if h := t.Header; h != nil {
		b = append(b, `,"header":{`...)
		start := len(b)
		b = appendMedia(b, `"image":`, h.Image, start)
		b = appendMedia(b, `"video":`, h.Video, start)
		if h.Document != nil {
			if len(b) > start {
				b = append(b, ',')
			}
			b = append(b, `"document":`...)
			b = append(b, '{')
			inner := len(b)
			b = appendMediaMembers(b, &h.Document.Media)
			b = appendMember(b, "filename", h.Document.Filename, inner)
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	if len(t.Buttons) > 0 {
		b = append(b, `,"buttons":[`...)
		for i := range t.Buttons {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"type":`...)
			b = appendString(b, t.Buttons[i].Type)
			b = append(b, `,"text":`...)
			b = appendString(b, t.Buttons[i].Text)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	if t.OTP != "" {
		b = append(b, `,"otp":`...)
		b = appendString(b, t.OTP)
	}
	return append(b, '}')
}

func appendMedia(b []byte, key string, m *messaging.Media, start int) []byte {
	if m == nil {
		return b
	}
	if len(b) > start {
		b = append(b, ',')
	}
	b = append(b, key...)
	b = append(b, '{')
	b = appendMediaMembers(b, m)
	return append(b, '}')
}

func appendMediaMembers(b []byte, m *messaging.Media) []byte {
	start := len(b)
	b = appendMember(b, "assetId", m.AssetID, start)
	b = appendMember(b, "id", m.ID, start)
	return appendMember(b, "link", m.Link, start)
}

// appendMember appends one string member unless it is empty. start is the index of the first member
// of the object.
func appendMember(b []byte, key, val string, start int) []byte {
	if val == "" {
		return b
	}
	if len(b) > start {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return appendString(b, val)
}

// appendString appends s in quotes as encoding/json does without HTML escapes.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[start:i]...)
			b = append(b, `\ufffd`...)
			i++
			start = i
			continue
		}
		if r == '\u2028' || r == '\u2029' {
			b = append(b, s[start:i]...)
			b = append(b, `\u202`...)
			b = append(b, hex[r&15])
			i += n
			start = i
			continue
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
