package messaging

import "encoding/base64"

const wamidPrefix = "wamid."

// RecipientOfID reads the digits of the recipient's phone number from a message id, or returns "".
// A wamid is the base64 of 1c 18 LEN DIGITS and more (docs/protocol.md#adoption). The platform does
// not document this form, so the number is a hint to match a webhook, and never alone a reason to
// send. Only the head of the id matters; its tail need not be valid base64.
func RecipientOfID(id string) string {
	if len(id) < len(wamidPrefix)+8 || id[:len(wamidPrefix)] != wamidPrefix {
		return ""
	}
	text := id[len(wamidPrefix):]
	// 3 bytes of head and at most 15 digits (E.164) are 18 bytes: 24 characters.
	if len(text) > 24 {
		text = text[:24]
	}
	text = text[:len(text)/4*4]
	var in [24]byte
	n := copy(in[:], text)
	for i, c := range in[:n] {
		switch c { // URL alphabet
		case '-':
			in[i] = '+'
		case '_':
			in[i] = '/'
		}
	}
	var raw [18]byte
	got, err := base64.StdEncoding.Decode(raw[:], in[:n])
	if err != nil && got == 0 {
		return ""
	}
	if got < 3 || raw[0] != 0x1c || raw[1] != 0x18 {
		return ""
	}
	length := int(raw[2])
	if length < 7 || length > 15 || 3+length > got {
		return ""
	}
	digits := raw[3 : 3+length]
	for _, c := range digits {
		if c < '0' || c > '9' {
			return ""
		}
	}
	return string(digits)
}

// MaxID is the most bytes of a message id (docs/protocol.md#what-an-answer-proves).
const MaxID = 256

// UsableID reports whether a message id has 1 to MaxID printable bytes.
func UsableID(id string) bool { return id != "" && len(id) <= MaxID && Visible(id) }

// Visible reports whether all bytes of s are printable ASCII without spaces.
func Visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
