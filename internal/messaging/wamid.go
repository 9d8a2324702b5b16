package messaging

import "encoding/base64"

const wamidPrefix = "wamid."

// RecipientOfID reads the digits of the other party's phone number out of a message
// id, or gives "". A wamid is base64 over 1c 18 LEN DIGITS ... (reliability.md 1.8; not documented by the
// platform): a hint for matching a webhook, never alone a reason to send. Ids whose tail is not valid
// base64 are read too: only the head matters.
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
