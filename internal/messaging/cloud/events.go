package cloud

import (
	"errors"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// SignatureForm is the form in which the platform signs events: hex HMAC-SHA256 of the raw body
// with the app's secret (docs/cloud.md#webhooks).
var SignatureForm = messaging.SignatureForm{Header: "X-Hub-Signature-256", Prefix: "sha256=", Encoding: messaging.Hex}

// ErrForeign means that a body has an entry of an account for which its signature does not vouch.
var ErrForeign = errors.New("an entry is of an account that the secret of the signature does not vouch for")

// DecodeEvents reads the body of a webhook whose signature vouches for some accounts: vouched
// tells which. name gives a phone_number_id its connection id. With an error no event is returned.
func DecodeEvents(
	body []byte, vouched func(account string) bool, name func(phoneNumberID string) string,
) ([]messaging.Event, error) {
	if len(body) > messaging.MaxBody {
		return nil, messaging.ErrBodyTooLarge
	}
	v, err := rawjson.Parse(body)
	if err != nil {
		return nil, errors.Join(messaging.ErrBody, err)
	}
	if !v.IsObject() {
		return nil, messaging.ErrBody
	}
	for m := v.Get("entry").Members(); m.Next(); {
		if !vouched(m.Val.Get("id").Text()) {
			return nil, ErrForeign
		}
	}
	b := messaging.Batch{}
	if v.Get("object").Text() != "whatsapp_business_account" {
		return []messaging.Event{{Type: "not the platform's envelope"}}, nil
	}
	if err := b.Platform(v, messaging.Event{}); err != nil {
		return nil, err
	}
	for i := range b.Events {
		if e := &b.Events[i]; e.NumberID != "" {
			e.Connection = name(e.NumberID)
		}
	}
	return b.Events, nil
}
