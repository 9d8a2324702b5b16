package area

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCodes is the most QR codes of a number.
const maxCodes = 2_000

// linkHost is the host of short links. The document writes {short_link_host}.
const linkHost = "https://link.sandbox.example/"

// qrCode opens a chat with a number and a prefilled message. Its link never changes.
type qrCode struct {
	Code             string `json:"code"`
	PrefilledMessage string `json:"prefilledMessage"`
	URL              string `json:"url"`

	connection *Connection
}

func (a *Areas) qrHandlers() map[string]Handler {
	return map[string]Handler{
		"qr_codes":        func(c *Call) (any, *Refusal) { return list(a.codesOf(c.Connection)), nil },
		"qr_codes_create": take(a.createCode), "qr_codes_update": take(a.updateCode), "qr_codes_delete": a.deleteCode,
	}
}

// codesOf returns copies, because the answer is written when the lock is given back.
func (a *Areas) codesOf(c *Connection) []qrCode {
	own := []qrCode{}
	for _, q := range a.codes {
		if q.connection == c {
			own = append(own, *q)
		}
	}
	return own
}

type prefilled struct {
	PrefilledMessage string `json:"prefilledMessage"`
}

func (in prefilled) check() *Refusal {
	switch n := utf8.RuneCountInString(in.PrefilledMessage); {
	case n == 0:
		return missing("prefilledMessage is required.")
	case n > 140:
		return invalid("prefilledMessage has more than 140 characters.")
	}
	return nil
}

func (a *Areas) createCode(c *Call, in prefilled) (any, *Refusal) {
	if ref := in.check(); ref != nil {
		return nil, ref
	}
	count := 0
	for _, q := range a.codes {
		if q.connection == c.Connection {
			count++
		}
	}
	if count >= maxCodes {
		return nil, overLimit(fmt.Sprintf("A number has at most %d QR codes.", maxCodes))
	}
	a.codesMade++
	code := strings.ToUpper(a.Token(1<<40 | a.codesMade)[:14])
	q := &qrCode{code, in.PrefilledMessage, linkHost + code, c.Connection}
	a.codes = append(a.codes, q)
	return *q, nil
}

// ownCode returns the code of the path, if the key reaches it.
func (a *Areas) ownCode(c *Call) (*qrCode, *Refusal) {
	i := slices.IndexFunc(a.codes, func(q *qrCode) bool { return q.Code == c.ID })
	if i < 0 || !c.Key.Covers(a.codes[i].connection.Company) || c.Connection != nil && c.Connection != a.codes[i].connection {
		return nil, notFound("QR code")
	}
	return a.codes[i], a.writable(a.codes[i].connection.Company)
}

func (a *Areas) updateCode(c *Call, in prefilled) (any, *Refusal) {
	q, ref := a.ownCode(c)
	if ref == nil {
		ref = in.check()
	}
	if ref != nil {
		return nil, ref
	}
	q.PrefilledMessage = in.PrefilledMessage
	return *q, nil
}

func (a *Areas) deleteCode(c *Call) (any, *Refusal) {
	q, ref := a.ownCode(c)
	if ref != nil {
		return nil, ref
	}
	a.codes = slices.DeleteFunc(a.codes, func(other *qrCode) bool { return other == q })
	return nil, nil
}
