package service

import (
	"bytes"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// readReceipt reads {data: {messageId, warning?: {code}}} (docs/service.md#send-response). ok is
// false if there is no usable id. A usable id has 1 to 256 printable bytes.
func readReceipt(body []byte) (id, warning string, ok bool) {
	if id, ok := quickReceipt(body); ok {
		return id, "", true
	}
	v, err := rawjson.Parse(body)
	if err != nil {
		return "", "", false
	}
	data := v.Get("data")
	id = data.Get("messageId").Text()
	if !data.Get("messageId").IsString() || !messaging.UsableID(id) {
		return "", "", false
	}
	return id, messaging.Token(data.Get("warning").Get("code").Text()), true
}

// quickReceipt reads exactly {"data":{"messageId":"..."}}, with white space anywhere. Nearly every
// answer has this form. It returns false for any other answer, which readReceipt then parses.
func quickReceipt(b []byte) (string, bool) {
	for _, part := range [...]string{"{", `"data"`, ":", "{", `"messageId"`, ":", `"`} {
		b = trimSpace(b)
		if len(b) < len(part) || string(b[:len(part)]) != part {
			return "", false
		}
		b = b[len(part):]
	}
	end := bytes.IndexByte(b, '"')
	if end < 1 || end > messaging.MaxID {
		return "", false
	}
	id := b[:end]
	for _, c := range id {
		if c <= ' ' || c >= 0x7f || c == '\\' {
			return "", false
		}
	}
	b = b[end+1:]
	for _, part := range [...]byte{'}', '}'} {
		b = trimSpace(b)
		if len(b) == 0 || b[0] != part {
			return "", false
		}
		b = b[1:]
	}
	if len(trimSpace(b)) != 0 {
		return "", false
	}
	return string(id), true
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\r' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}
