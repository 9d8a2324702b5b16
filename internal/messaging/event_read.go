package messaging

import (
	"cmp"
	"strings"

	"campaignd/internal/rawjson"
	"campaignd/internal/sentence"
)

// Read reads the object of an event of this kind, with the names of the service or of the platform.
// word is the status that the type of the event names, "" if it names none. Kind stays unknown if
// the object lacks what an event of the kind needs.
func (e *Event) Read(kind Kind, v rawjson.Value, word string) {
	switch kind {
	case KindStatus:
		e.status(v, word)
	case KindMessage:
		e.inbound(v)
	case KindTemplate:
		e.review(v)
	case KindPreference:
		e.preference(v)
	case KindNumber:
		e.Kind = kind
		e.change(v)
		e.Number = onlyDigits(v.First("phoneNumber", "displayPhoneNumber", "display_phone_number"))
	case KindAccount:
		e.Kind = kind
		e.change(v)
	}
}

// status reads {messageId, status, timestamp, to?, error?} with the service's names or the
// platform's (docs/service.md#statuses). The kind stays unknown without a usable id, and with a
// status that campaignd does not follow (played, deleted).
func (e *Event) status(v rawjson.Value, word string) {
	id, to := "", ""
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "messageId", "message_id", "wamid":
			id = m.Val.Text()
		case "id":
			if id == "" {
				id = m.Val.Text()
			}
		case "status":
			word = m.Val.OneOf(string(StatusSent), string(StatusDelivered), string(StatusRead), string(StatusFailed))
		case "timestamp":
			if at := m.Val.Time(); !at.IsZero() {
				e.At = at
			}
		case "to", "recipient_id", "recipient":
			to = e.person(m.Val.Text(), to)
		case "recipient_user_id", "recipientUserId", "user_id", "userId":
			e.user(m.Val.Text())
		case "error":
			e.failure(m.Val)
		case "biz_opaque_callback_data":
			if mark := m.Val.Text(); len(mark) <= maxMark {
				e.Mark = mark
			}
		case "pricing":
			e.pricing(m.Val)
		case "errors":
			if first := m.Val.Members(); first.Next() {
				e.failure(first.Val)
			}
		}
	}
	if !UsableID(id) || !Status(word).Known() {
		e.Type += "/" + Token(word)
		return
	}
	e.contact(to)
	if to == "" {
		to = RecipientOfID(id)
	}
	e.Kind, e.MessageID, e.Status, e.Recipient = KindStatus, id, Status(word), to
}

// maxMark is the longest mark of a message, in bytes (docs/cloud.md#send).
const maxMark = 512

// pricing reads {billable, pricing_model, type, category}.
func (e *Event) pricing(v rawjson.Value) {
	if !v.IsObject() {
		return
	}
	p := &Pricing{Type: Token(strings.ToLower(v.Get("type").Text())), Category: Token(strings.ToLower(v.Get("category").Text()))}
	p.Billable, _ = v.Get("billable").Bool()
	e.Pricing = p
}

// failure reads {code, title, details} or {code, title, message, error_data: {details}}.
func (e *Event) failure(v rawjson.Value) {
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "code":
			if n, ok := m.Val.Integer(); ok && n >= 0 && n < 1<<31 {
				e.Code = int(n)
			}
		case "title":
			e.Title = Scrub(m.Val.Text(), maxMessage)
		case "details":
			e.Details = Scrub(m.Val.Text(), maxMessage)
		case "message":
			if e.Details == "" {
				e.Details = Scrub(m.Val.Text(), maxMessage)
			}
		case "error_data":
			if s := m.Val.Get("details").Text(); s != "" {
				e.Details = Scrub(s, maxMessage)
			}
		}
	}
}

// maxText is the longest text of a customer that is kept, in bytes. The platform's limit is 4,096
// characters.
const maxText = 4096

// inbound reads the message of a customer.
func (e *Event) inbound(v rawjson.Value) {
	in := &Inbound{}
	id := ""
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "messageId", "message_id", "wamid":
			id = m.Val.Text()
		case "id":
			if id == "" {
				id = m.Val.Text()
			}
		case "from":
			from := m.Val.Text()
			if m.Val.IsObject() {
				from = m.Val.First("phoneNumber", "phone", "wa_id", "id")
				e.user(m.Val.First("user_id", "userId"))
			}
			in.From = e.person(from, in.From)
		case "from_user_id", "fromUserId", "user_id", "userId":
			e.user(m.Val.Text())
		case "timestamp":
			if at := m.Val.Time(); !at.IsZero() {
				e.At = at
			}
		case "type":
			in.Type = Token(m.Val.Text())
		case "text":
			if m.Val.IsString() {
				in.Text = m.Val.Text()
			} else {
				in.Text = m.Val.Get("body").Text()
			}
		case "button":
			in.ButtonPayload, in.Text = m.Val.First("payload", "id"), m.Val.First("text", "title")
		case "interactive":
			for _, reply := range [...]string{"button_reply", "list_reply", "buttonReply", "listReply"} {
				if r := m.Val.Get(reply); r != nil {
					in.ButtonPayload, in.Text = r.Get("id").Text(), r.Get("title").Text()
				}
			}
		case "image", "video", "document":
			if in.Text == "" {
				in.Text = m.Val.Get("caption").Text()
			}
		case "context":
			in.ContextID = m.Val.First("messageId", "message_id", "id")
		case "system":
			var next Event
			in.MovedTo = next.person(m.Val.First("wa_id", "new_wa_id", "phoneNumber"), "")
			next.user(m.Val.First("user_id", "new_user_id"))
			next.contact(in.MovedTo)
			e.Contacts = append(e.Contacts, next.Contacts...)
		}
	}
	e.contact(in.From)
	if in.From == "" && e.UserID == "" && in.MovedTo == "" {
		return
	}
	in.Text, in.ButtonPayload = sentence.Clip(in.Text, maxText), sentence.Clip(in.ButtonPayload, maxText)
	if !UsableID(id) {
		id = ""
	}
	if !UsableID(in.ContextID) {
		in.ContextID = ""
	}
	e.Kind, e.MessageID, e.Inbound = KindMessage, id, in
}

// review reads what happened to a template, in the service's form or one of the platform's three
// forms (docs/service.md#template-events).
func (e *Event) review(v rawjson.Value) {
	r := &Review{}
	status, quality, category, pause := "", "", "", ""
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "message_template_name", "templateName", "name":
			r.Name = m.Val.Text()
		case "message_template_language", "templateLanguage", "language":
			r.Language = FoldLanguage(m.Val.Text())
		case "event", "status":
			status = strings.ToUpper(m.Val.Text())
		case "reason":
			r.Reason = m.Val.Text()
		case "message_template_category", "category":
			r.Category = strings.ToUpper(m.Val.Text())
		case "new_quality_score", "qualityScore":
			quality = strings.ToUpper(m.Val.Text())
		case "new_category", "correct_category":
			category = strings.ToUpper(m.Val.Text())
		case "other_info":
			pause = m.Val.Get("title").Text()
		case "rejection_info":
			if s := m.Val.Get("reason").Text(); s != "" {
				pause = s
			}
		case "timestamp":
			if at := m.Val.Time(); !at.IsZero() {
				e.At = at
			}
		}
	}
	if strings.EqualFold(r.Reason, "NONE") {
		r.Reason = ""
	}
	r.Reason = cmp.Or(r.Reason, pause)
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
	r.Event, r.Category, r.Reason = Token(r.Event), Token(r.Category), Scrub(r.Reason, maxMessage)
	e.Kind, e.Review = KindTemplate, r
}

// preference reads the wish of a customer: {wa_id, category, value, timestamp}
// (docs/service.md#opt-outs).
func (e *Event) preference(v rawjson.Value) {
	p := &Preference{}
	e.user(v.First("user_id", "userId", "from_user_id"))
	p.From = e.person(v.First("wa_id", "from", "phoneNumber", "phone"), "")
	e.contact(p.From)
	if at := v.Get("timestamp").Time(); !at.IsZero() {
		e.At = at
	}
	if p.From == "" && e.UserID == "" {
		return
	}
	switch strings.ToLower(v.First("value", "preference")) {
	case "stop":
		p.Stop = true
	case "resume":
	default:
		return
	}
	e.Kind, e.Preference = KindPreference, p
}
