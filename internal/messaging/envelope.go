package messaging

import (
	"strings"
	"time"

	"campaignd/internal/spelling"
)

// envelope is the object of the service around an event: {id, type, createdAt, connectionId, data}.
// It is assumed (docs/service.md#events).
type envelope struct {
	id, kind, connection string
	at                   time.Time
	data                 value // nil if there is no object under data or payload
	list                 value // the array of {events: [...]}, else nil
}

func (env *envelope) read(v value) {
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "id", "eventId":
			env.id = m.val.text()
		case "type":
			env.kind = m.val.text()
		case "event":
			if env.kind == "" {
				env.kind = m.val.text()
			}
		case "createdAt", "created_at":
			env.at = m.val.stamp()
		case "timestamp":
			if env.at.IsZero() {
				env.at = m.val.stamp()
			}
		case "connectionId", "connection_id":
			env.connection = m.val.text()
		case "events":
			if m.val.isArray() {
				env.list = m.val
			}
		case "data", "payload":
			if m.val.isObject() {
				env.data = m.val
			}
		}
	}
}

// isBatch tells the batch {events: [...]} from an event with a member of that name. A batch may
// have a type, an id and a time of its own. It has no data, and its members are objects.
func (env *envelope) isBatch() bool {
	if env.list == nil || env.kind == "" {
		return env.list != nil
	}
	first := env.list.members()
	return env.data == nil && (!first.next() || first.val.isObject())
}

// service reads one event in the service's own form. Without a data object the fields of the event
// are beside its type.
func (d *decoder) service(v value, env *envelope) error {
	data := env.data
	if data == nil {
		data = v
	}
	kind, status := kindOf(env.kind)
	e := Event{ID: env.id, Type: env.kind, At: env.at, Connection: env.connection}
	switch kind {
	case KindStatus:
		e.status(data, status)
	case KindMessage:
		e.inbound(data)
	case KindTemplate:
		e.review(data)
	case KindPreference:
		e.preference(data)
	case KindNumber:
		e.Kind = kind
		e.change(data)
		e.Number = onlyDigits(firstText(data, "phoneNumber", "displayPhoneNumber", "display_phone_number"))
	case KindAccount:
		e.Kind = kind
		e.change(data)
	}
	if e.Connection == "" {
		e.Connection = firstText(data, "connectionId", "connection_id")
	}
	return d.add(e)
}

// kindOf returns the kind of a type of event. status is the word of a type such as message.read.
func kindOf(name string) (kind Kind, status string) {
	group, word, _ := strings.Cut(name, ".")
	switch {
	case name == "message.status" || group == "message" && knownStatus(word):
		return KindStatus, word
	case name == "message.received" || name == "message.inbound":
		return KindMessage, ""
	case name == "user.preference" || name == "user_preferences":
		return KindPreference, ""
	}
	switch group {
	case "template":
		return KindTemplate, ""
	case "preference":
		return KindPreference, ""
	case "number", "phone_number", "connection":
		return KindNumber, ""
	case "account", "company":
		return KindAccount, ""
	}
	return KindUnknown, ""
}

func knownStatus(s string) bool {
	switch Status(s) {
	case StatusSent, StatusDelivered, StatusRead, StatusFailed:
		return true
	}
	return false
}

// status reads {messageId, status, timestamp, to?, error?} with the service's names or the
// platform's (docs/service.md#statuses). The kind stays unknown without a usable id, and with a
// status that campaignd does not follow (played, deleted).
func (e *Event) status(v value, word string) {
	id, to := "", ""
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "messageId", "message_id", "wamid":
			id = m.val.text()
		case "id":
			if id == "" {
				id = m.val.text()
			}
		case "status":
			word = m.val.text()
		case "timestamp":
			if at := m.val.stamp(); !at.IsZero() {
				e.At = at
			}
		case "to", "recipient_id", "recipient":
			to = e.person(m.val.text(), to)
		case "recipient_user_id", "recipientUserId", "user_id", "userId":
			e.user(m.val.text())
		case "error":
			e.failure(m.val)
		case "errors":
			if first := m.val.members(); first.next() {
				e.failure(first.val)
			}
		}
	}
	if !usableID(id) || !knownStatus(word) {
		e.Type += "/" + token(word)
		return
	}
	e.contact(to)
	if to == "" {
		to = RecipientOfID(id)
	}
	e.Kind, e.MessageID, e.Status, e.Recipient = KindStatus, id, Status(word), to
}

// failure reads {code, title, details} or {code, title, message, error_data: {details}}.
func (e *Event) failure(v value) {
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "code":
			if n, ok := m.val.integer(); ok && n >= 0 && n < 1<<31 {
				e.Code = int(n)
			}
		case "title":
			e.Title = Scrub(m.val.text(), maxMessage)
		case "details":
			e.Details = Scrub(m.val.text(), maxMessage)
		case "message":
			if e.Details == "" {
				e.Details = Scrub(m.val.text(), maxMessage)
			}
		case "error_data":
			if s := m.val.get("details").text(); s != "" {
				e.Details = Scrub(s, maxMessage)
			}
		}
	}
}

// maxText is the longest text of a customer that is kept, in bytes. The platform's limit is 4,096
// characters.
const maxText = 4096

// inbound reads the message of a customer.
func (e *Event) inbound(v value) {
	in := &Inbound{}
	id := ""
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "messageId", "message_id", "wamid":
			id = m.val.text()
		case "id":
			if id == "" {
				id = m.val.text()
			}
		case "from":
			from := m.val.text()
			if m.val.isObject() {
				from = firstText(m.val, "phoneNumber", "phone", "wa_id", "id")
				e.user(firstText(m.val, "user_id", "userId"))
			}
			in.From = e.person(from, in.From)
		case "from_user_id", "fromUserId", "user_id", "userId":
			e.user(m.val.text())
		case "timestamp":
			if at := m.val.stamp(); !at.IsZero() {
				e.At = at
			}
		case "type":
			in.Type = token(m.val.text())
		case "text":
			if m.val.isString() {
				in.Text = m.val.text()
			} else {
				in.Text = m.val.get("body").text()
			}
		case "button":
			in.ButtonPayload, in.Text = firstText(m.val, "payload", "id"), firstText(m.val, "text", "title")
		case "interactive":
			for _, reply := range [...]string{"button_reply", "list_reply", "buttonReply", "listReply"} {
				if r := m.val.get(reply); r != nil {
					in.ButtonPayload, in.Text = r.get("id").text(), r.get("title").text()
				}
			}
		case "image", "video", "document":
			if in.Text == "" {
				in.Text = m.val.get("caption").text()
			}
		case "context":
			in.ContextID = firstText(m.val, "messageId", "message_id", "id")
		case "system":
			var next Event
			in.MovedTo = next.person(firstText(m.val, "wa_id", "new_wa_id", "phoneNumber"), "")
			next.user(firstText(m.val, "user_id", "new_user_id"))
			next.contact(in.MovedTo)
			e.Contacts = append(e.Contacts, next.Contacts...)
		}
	}
	e.contact(in.From)
	if in.From == "" && e.UserID == "" && in.MovedTo == "" {
		return
	}
	in.Text, in.ButtonPayload = spelling.Clip(in.Text, maxText), spelling.Clip(in.ButtonPayload, maxText)
	if !usableID(id) {
		id = ""
	}
	if !usableID(in.ContextID) {
		in.ContextID = ""
	}
	e.Kind, e.MessageID, e.Inbound = KindMessage, id, in
}

// review reads what happened to a template, in the service's form or one of the platform's three
// forms (docs/service.md#template-events).
func (e *Event) review(v value) {
	r := &Review{}
	status, quality, category, pause := "", "", "", ""
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "message_template_name", "templateName", "name":
			r.Name = m.val.text()
		case "message_template_language", "templateLanguage", "language":
			r.Language = FoldLanguage(m.val.text())
		case "event", "status":
			status = strings.ToUpper(m.val.text())
		case "reason":
			r.Reason = m.val.text()
		case "message_template_category", "category":
			r.Category = strings.ToUpper(m.val.text())
		case "new_quality_score", "qualityScore":
			quality = strings.ToUpper(m.val.text())
		case "new_category", "correct_category":
			category = strings.ToUpper(m.val.text())
		case "other_info":
			pause = m.val.get("title").text()
		case "rejection_info":
			if s := m.val.get("reason").text(); s != "" {
				pause = s
			}
		case "timestamp":
			if at := m.val.stamp(); !at.IsZero() {
				e.At = at
			}
		}
	}
	if strings.EqualFold(r.Reason, "NONE") {
		r.Reason = ""
	}
	if r.Reason == "" {
		r.Reason = pause
	}
	switch {
	case status != "":
		r.Event = status
	case quality != "":
		r.Event, r.Reason = "QUALITY", quality
	case category != "":
		r.Event, r.Category = "CATEGORY", category
	}
	if r.Name == "" || r.Event == "" {
		return
	}
	r.Event, r.Category, r.Reason = token(r.Event), token(r.Category), Scrub(r.Reason, maxMessage)
	e.Kind, e.Review = KindTemplate, r
}

// preference reads the wish of a customer: {wa_id, category, value, timestamp}
// (docs/service.md#opt-outs).
func (e *Event) preference(v value) {
	p := &Preference{}
	e.user(firstText(v, "user_id", "userId", "from_user_id"))
	p.From = e.person(firstText(v, "wa_id", "from", "phoneNumber", "phone"), "")
	e.contact(p.From)
	if at := v.get("timestamp").stamp(); !at.IsZero() {
		e.At = at
	}
	if p.From == "" && e.UserID == "" {
		return
	}
	switch strings.ToLower(firstText(v, "value", "preference")) {
	case "stop":
		p.Stop = true
	case "resume":
	default:
		return
	}
	e.Kind, e.Preference = KindPreference, p
}

func firstText(v value, names ...string) string {
	for _, n := range names {
		if s := v.get(n).text(); s != "" {
			return s
		}
	}
	return ""
}
