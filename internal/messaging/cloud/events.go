package cloud

import (
	"cmp"
	"errors"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// SignatureForm is the form in which the platform signs events: hex HMAC-SHA256 of the raw body
// with the app's secret (docs/cloud.md#webhooks).
var SignatureForm = messaging.SignatureForm{Header: "X-Hub-Signature-256", Prefix: "sha256=", Encoding: messaging.Hex}

// Told is what a body tells whose signature is right. A signature says which app posted the body,
// so each event counts only for the accounts and the numbers of that app.
type Told struct {
	Events []messaging.Event // that count
	// Ignored are the accounts and numbers of the events that do not count: one for each event.
	Ignored []string
	// Unlisted are the numbers of events about which it is not known yet whether they count.
	Unlisted []string
}

// noNumber stands in Told.Ignored for an event that names no number and must.
const noNumber = "no number"

// DecodeEvents reads the body of a webhook whose signature is right. vouched tells for which
// accounts it vouches, and standing is Client.Standing for these accounts. stops finds the opt-outs
// in the history of a number. With an error no event is returned.
func DecodeEvents(
	body []byte, stops messaging.OptOut, vouched func(account string) bool, standing func(id, digits string) (connection string, s Standing),
) (told Told, err error) {
	if len(body) > messaging.MaxBody {
		return told, messaging.ErrBodyTooLarge
	}
	v, err := rawjson.Parse(body)
	if err != nil {
		return told, errors.Join(messaging.ErrBody, err)
	}
	if !v.IsObject() {
		return told, messaging.ErrBody
	}
	if v.Get("object").Text() != "whatsapp_business_account" {
		told.Events = []messaging.Event{{Type: "not the platform's envelope"}}
		return told, nil
	}
	b := messaging.Batch{OptOut: stops}
	if err := b.Platform(v, messaging.Event{}); err != nil {
		return told, err
	}
	type number struct{ id, digits string }
	type owner struct {
		connection string
		Standing
	}
	known := map[number]owner{} // so that a body asks once for each number
	for _, e := range b.Events {
		named := number{id: e.NumberID}
		if named.id == "" {
			named.digits = e.Number
		}
		e.Number = "" // the connection is known by the platform's own listing, or the event does not count
		switch {
		case !vouched(e.Account):
			told.Ignored = append(told.Ignored, "account "+e.Account)
		case named != number{}:
			of, ok := known[named]
			if !ok {
				of.connection, of.Standing = standing(named.id, named.digits)
				known[named] = of
			}
			name := "number " + cmp.Or(named.id, "without an id")
			switch of.Standing {
			case Own:
				e.Connection = of.connection
				told.Events = append(told.Events, e)
			case Others:
				told.Ignored = append(told.Ignored, name)
			case Unlisted:
				told.Unlisted = append(told.Unlisted, name)
			}
		case aboutNumber(&e):
			told.Ignored = append(told.Ignored, noNumber)
		default:
			told.Events = append(told.Events, e)
		}
	}
	return told, nil
}

// aboutNumber reports whether an event is about a number, so that only one that names it counts.
func aboutNumber(e *messaging.Event) bool {
	switch e.Kind {
	case messaging.KindStatus, messaging.KindMessage, messaging.KindPreference, messaging.KindNumber:
		return true
	}
	return false
}
