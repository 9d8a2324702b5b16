package messaging

import "strings"

// platformObject is the member by which the platform's own envelope is found
// (docs/service.md#events):
//
//	{object: whatsapp_business_account, entry: [{id, time, changes: [{field, value}]}]}
const platformObject = "whatsapp_business_account"

// nestingOfPlatform is the depth to which the service's event is searched for the envelope.
const nestingOfPlatform = 4

// findPlatform returns the platform's envelope in v, or nil. The service may pass the envelope on
// unchanged, under data, or deeper. Only the first eight objects of each object are searched.
func findPlatform(v value, depth int) value {
	var inner [8]value
	n := 0
	var object string
	hasEntry := false
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "object":
			object = m.val.text()
		case "entry":
			hasEntry = m.val.isArray()
		default:
			if m.val.isObject() && n < len(inner) {
				inner[n] = m.val
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

// platform reads every change of every entry.
func (d *decoder) platform(v value, env *envelope) error {
	for entry := v.get("entry").members(); entry.next(); {
		at := entry.val.get("time").stamp()
		if at.IsZero() {
			at = env.at
		}
		for change := entry.val.get("changes").members(); change.next(); {
			e := Event{ID: env.id, Connection: env.connection, At: at, Type: token(change.val.get("field").text()),
				Account: token(entry.val.get("id").text())}
			if err := d.change(change.val.get("value"), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// change reads one change. e has the fields that all its events have in common.
func (d *decoder) change(v value, e Event) error {
	var statuses, messages, faults, preferences, persons value
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "metadata":
			e.Number = onlyDigits(m.val.get("display_phone_number").text())
		case "display_phone_number":
			e.Number = onlyDigits(m.val.text())
		case "statuses":
			statuses = m.val
		case "messages":
			messages = m.val
		case "errors":
			faults = m.val
		case "user_preferences":
			preferences = m.val
		case "contacts":
			persons = m.val
		}
	}
	field, found := e.Type, false
	told := contacts(persons)
	each := func(list value, name string, read func(*Event, value)) error {
		for m := list.members(); m.next(); {
			found = true
			one := e
			one.Type = field + "/" + name
			one.Contacts, told = told, nil
			if m.val.isObject() {
				read(&one, m.val)
			}
			if err := d.add(one); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(statuses, "statuses", func(o *Event, v value) { o.status(v, "") }); err != nil {
		return err
	}
	if field == "messages" { // smb_message_echoes are messages of the business itself
		if err := each(messages, "messages", (*Event).inbound); err != nil {
			return err
		}
	}
	if err := each(preferences, "user_preferences", (*Event).preference); err != nil {
		return err
	}
	if err := each(faults, "errors", func(o *Event, v value) { // errors of the number, such as 130429
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
	case v.get("message_template_name") != nil || strings.Contains(field, "template"):
		// The event is found by its keys, because the platform's own example names the wrong field
		// (docs/service.md#contradictions).
		e.review(v)
	case strings.HasPrefix(field, "phone_number"):
		e.Kind = KindNumber
		e.change(v)
	case strings.HasPrefix(field, "account") || strings.HasPrefix(field, "business"):
		e.Kind = KindAccount
		e.change(v)
	}
	return d.add(e)
}
