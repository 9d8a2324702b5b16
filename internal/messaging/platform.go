package messaging

import (
	"bytes"
	"strings"
	"time"

	"campaignd/internal/rawjson"
)

// platformObject is the member by which the platform's own envelope is found
// (docs/service.md#events):
//
//	{object: whatsapp_business_account, entry: [{id, time, changes: [{field, value}]}]}
const platformObject = "whatsapp_business_account"

// nestingOfPlatform is the depth to which the service's event is searched for the envelope.
const nestingOfPlatform = 4

// FindPlatform returns the platform's envelope in v, or nil. A service may pass the envelope on
// unchanged, under data, or deeper. Only the first eight objects of each object are searched.
func FindPlatform(v rawjson.Value) rawjson.Value {
	if !bytes.Contains(v, []byte(platformObject)) { // much cheaper than a walk
		return nil
	}
	return findPlatform(v, 0)
}

func findPlatform(v rawjson.Value, depth int) rawjson.Value {
	var inner [8]rawjson.Value
	n := 0
	var object string
	hasEntry := false
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "object":
			object = m.Val.Text()
		case "entry":
			hasEntry = m.Val.IsArray()
		default:
			if m.Val.IsObject() && n < len(inner) {
				inner[n] = m.Val
				n++
			}
		}
	}
	if object == platformObject && hasEntry {
		return v
	}
	if depth < nestingOfPlatform {
		for _, child := range inner[:n] {
			if found := findPlatform(child, depth+1); found != nil {
				return found
			}
		}
	}
	return nil
}

// Platform adds the events of every change of every entry of the platform's envelope. outer has
// what the object around the envelope says: the connection and the time.
func (b *Batch) Platform(v rawjson.Value, outer Event) error {
	for entry := v.Get("entry").Members(); entry.Next(); {
		at := entry.Val.Get("time").Time()
		if at.IsZero() {
			at = outer.At
		}
		for change := entry.Val.Get("changes").Members(); change.Next(); {
			e := Event{Connection: outer.Connection, At: at, Type: Token(change.Val.Get("field").Text()),
				Account: Token(entry.Val.Get("id").Text())}
			if err := b.change(change.Val.Get("value"), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// change reads one change. e has the fields that all its events have in common.
func (b *Batch) change(v rawjson.Value, e Event) error {
	var statuses, messages, faults, preferences, persons, past rawjson.Value
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "metadata":
			e.Number = onlyDigits(m.Val.Get("display_phone_number").Text())
			e.NumberID = Token(m.Val.Get("phone_number_id").Text())
		case "display_phone_number":
			e.Number = onlyDigits(m.Val.Text())
		case "statuses":
			statuses = m.Val
		case "messages":
			messages = m.Val
		case "errors":
			faults = m.Val
		case "user_preferences":
			preferences = m.Val
		case "contacts":
			persons = m.Val
		case "history":
			past = m.Val
		}
	}
	field, found := e.Type, false
	told := contacts(persons)
	each := func(list rawjson.Value, name string, read func(*Event, rawjson.Value)) error {
		for m := list.Members(); m.Next(); {
			found = true
			one := e
			one.Type = field + "/" + name
			one.Contacts, told = told, nil
			if m.Val.IsObject() {
				read(&one, m.Val)
			}
			if err := b.Add(one); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(statuses, "statuses", func(o *Event, v rawjson.Value) { o.status(v, "") }); err != nil {
		return err
	}
	if field == "messages" { // smb_message_echoes are messages of the business itself
		if err := each(messages, "messages", (*Event).inbound); err != nil {
			return err
		}
	}
	if field == "history" {
		if err := b.history(past, e); err != nil {
			return err
		}
	}
	if err := each(preferences, "user_preferences", (*Event).preference); err != nil {
		return err
	}
	if err := each(faults, "errors", func(o *Event, v rawjson.Value) { // errors of the number, such as 130429
		o.failure(v)
		o.Kind = KindNumber
	}); err != nil {
		return err
	}
	if found {
		return nil
	}
	e.Contacts = told
	switch {
	case v.Get("message_template_name") != nil || strings.Contains(field, "template"):
		// The event is found by its keys, because the platform's own example names the wrong field
		// (docs/service.md#contradictions).
		e.review(v)
	case strings.HasPrefix(field, "phone_number"):
		e.Kind = KindNumber
		e.state(v)
	case strings.HasPrefix(field, "account") || strings.HasPrefix(field, "business"):
		e.Kind = KindAccount
		e.state(v)
	}
	return b.Add(e)
}

// history adds the opt-outs among the messages that people wrote before the number came to the API
// (docs/protocol.md#lifts): one without its own time could be older than any lift, so it does not
// count. A body may have thousands of messages, and the others say nothing.
func (b *Batch) history(v rawjson.Value, e Event) error {
	e.Type, e.At = "history/messages", time.Time{}
	for chunk := v.Members(); chunk.Next(); {
		for thread := chunk.Val.Get("threads").Members(); thread.Next(); {
			person := onlyDigits(thread.Val.Get("id").Text())
			for m := thread.Val.Get("messages").Members(); m.Next(); {
				one := e
				if person == "" || !m.Val.IsObject() || onlyDigits(m.Val.Get("from").Text()) != person { // the business wrote it
					continue
				}
				if one.inbound(m.Val); one.At.IsZero() || !b.OptOut.MatchMessage(one.Inbound) {
					continue
				}
				if err := b.Add(one); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// state reads the state that a change tells. It is about the account of its entry: what the change
// itself says of an account or a company, nothing vouches for.
func (e *Event) state(v rawjson.Value) {
	account := e.Account
	e.change(v)
	if e.Account = account; e.Change != nil {
		e.Change.Company = ""
	}
}
