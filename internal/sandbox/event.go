package sandbox

import (
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/draw"
)

// extra is an event that is not a status: an inbound message or a change of a template, a number or
// an account.
type extra struct {
	typ     string
	company string
	conn    *connection // nil: none
	at      time.Time   // the time in the event; zero: the event has no time
	made    time.Time   // when the event happened, for Replay
	data    []byte      // the value of data in the service's envelope
	field   string      // the field in the platform's envelope
	value   []byte      // the value of that field
	acked   int64       // first 2xx, Unix nanoseconds; 0: none
}

// addExtra stores an event and returns its number. The caller holds s.mu, and calls pushExtra after
// releasing it.
func (s *Sandbox) addExtra(x *extra) int {
	if x.made = x.at; s.opt.Events.OmitTime {
		x.at = time.Time{}
	}
	s.extras = append(s.extras, x)
	return len(s.extras) - 1
}

// pushExtra schedules the posting of extra i. It returns the number of endpoints that get it. The
// caller does not hold s.mu.
func (s *Sandbox) pushExtra(i int, at time.Time) int {
	return s.push(posting{slot: slotExtra, at: at, post: at}, uint32(i), nil)
}

// about returns the type and the company of an event.
func (s *Sandbox) about(it item) (typ, company string) {
	if it.slot == slotExtra {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.extras[it.index].typ, s.extras[it.index].company
	}
	var conn uint16
	s.records.with(it.index, func(rec *record) { conn = rec.conn })
	return "message.status", s.connections[conn].Company
}

// appendDelivery appends the body of one webhook request with these items.
func (s *Sandbox) appendDelivery(b []byte, items []item) []byte {
	form := &s.opt.Events
	open, end := "", ""
	switch {
	case form.Envelope == "platform":
		open, end = `{"object":"whatsapp_business_account","entry":[`, "]}"
	case form.Batch > 1 && form.BatchObject:
		open, end = `{"events":[`, "]}"
	case form.Batch > 1:
		open, end = "[", "]"
	}
	b = append(b, open...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case it.slot == slotExtra:
			b = s.appendExtra(b, it)
		case form.Envelope == "platform":
			b = s.appendPlatformStatus(b, it)
		default:
			b = s.appendStatus(b, it)
		}
	}
	return append(b, end...)
}

// nobody returns a phone number that no person has: country code 888 is not in use.
func nobody(n uint32) uint64 { return 888_000_000_000 + uint64(n) }

// view is the contents of a status event.
type view struct {
	conn   *connection
	id     string
	status string
	to     uint64
	at     time.Time
	code   int
	mark   string
	// category is the category of the template, for the price.
	category string
}

func (s *Sandbox) view(it item) (v view) {
	s.records.with(it.index, func(rec *record) {
		v = view{conn: s.connections[rec.conn], to: rec.to, status: it.slot.String()}
		if it.slot == slotOrphan {
			v.to, v.status, v.at = nobody(it.index), "sent", time.Unix(0, rec.at)
			v.id = wamid(s.boot, v.to, 0x11, 1<<39|uint64(it.index))
			return
		}
		m := rec.marks[it.slot]
		v.at, v.code, v.mark = time.Unix(0, m.at), int(m.code), rec.mark
		if rec.tpl != nil {
			v.category = rec.tpl.Category
		}
		v.id = wamid(s.boot, rec.to, 0x11, uint64(it.index))
	})
	if it.flags&flagWrongRecipient != 0 {
		v.to = nobody(it.index)
	}
	return v
}

// appendStatus appends a message.status event (docs/service.md#events).
func (s *Sandbox) appendStatus(b []byte, it item) []byte {
	v := s.view(it)
	b = s.appendHead(b, it, "message.status", v.conn, v.at)
	b = append(b, `{"messageId":"`...)
	b = append(b, v.id...)
	b = append(b, `","status":"`...)
	b = append(b, v.status...)
	b = append(b, `","timestamp":`...)
	b = s.appendTime(b, v.at)
	if !s.opt.Events.OmitRecipient {
		b = append(b, `,"to":"+`...)
		b = strconv.AppendUint(b, v.to, 10)
		b = append(b, '"')
	}
	if v.code != 0 {
		b = append(b, `,"error":{"code":`...)
		b = strconv.AppendInt(b, int64(v.code), 10)
		b = append(b, `,"title":"`...)
		b = append(b, area.TitleOf(v.code)...) // the titles are our own and need no escapes
		b = append(b, `","details":"`...)
		b = append(b, area.TitleOf(v.code)...)
		b = append(b, `"}`...)
	}
	return append(b, "}}"...)
}

// appendHead appends an event up to the value of data.
func (s *Sandbox) appendHead(b []byte, it item, typ string, conn *connection, at time.Time) []byte {
	b = append(b, `{"id":"evt_`...)
	b = strconv.AppendUint(b, draw.Mix(s.boot, uint64(drawEvent), uint64(it.slot), uint64(it.index)), 36)
	b = append(b, `","type":"`...)
	b = append(b, typ...)
	if !at.IsZero() {
		b = append(b, `","createdAt":"`...)
		b = at.UTC().AppendFormat(b, time.RFC3339Nano)
	}
	b = append(b, '"')
	if conn != nil && !s.opt.Events.OmitConnection {
		b = append(b, `,"connectionId":`...)
		b = appendJSON(b, conn.ID)
	}
	return append(b, `,"data":`...)
}

// eventID is the id of an event, the same in every posting.
func (s *Sandbox) eventID(it item) string {
	return "evt_" + strconv.FormatUint(draw.Mix(s.boot, uint64(drawEvent), uint64(it.slot), uint64(it.index)), 36)
}

// appendTime appends a timestamp in the configured form.
func (s *Sandbox) appendTime(b []byte, at time.Time) []byte {
	switch s.opt.Events.Timestamps {
	case "unix":
		return strconv.AppendInt(b, at.Unix(), 10)
	case "unix_string":
		b = append(b, '"')
		b = strconv.AppendInt(b, at.Unix(), 10)
	default:
		b = append(b, '"')
		b = at.UTC().AppendFormat(b, time.RFC3339Nano)
	}
	return append(b, '"')
}

func (s *Sandbox) appendExtra(b []byte, it item) []byte {
	s.mu.Lock()
	x := *s.extras[it.index]
	s.mu.Unlock()
	if s.opt.Events.Envelope == "platform" {
		b = append(b, `{"id":"`...)
		b = strconv.AppendInt(b, s.accountID(x.company), 10)
		b = append(b, '"')
		if x.field != "messages" && x.field != "user_preferences" && !x.at.IsZero() { // those two have their time in the value
			b = append(b, `,"time":`...)
			b = strconv.AppendInt(b, x.at.Unix(), 10)
		}
		b = append(b, `,"changes":[{"value":`...)
		b = append(b, x.value...)
		b = append(b, `,"field":"`...)
		b = append(b, x.field...)
		return append(b, `"}]}`...)
	}
	b = s.appendHead(b, it, x.typ, x.conn, x.at)
	b = append(b, x.data...)
	return append(b, '}')
}

// appendPlatformStatus appends one entry of the platform's own envelope (docs/service.md#events).
func (s *Sandbox) appendPlatformStatus(b []byte, it item) []byte {
	v := s.view(it)
	b = append(b, `{"id":"`...)
	b = strconv.AppendInt(b, s.accountID(v.conn.Company), 10)
	b = append(b, `","changes":[{"value":{"messaging_product":"whatsapp",`...)
	b = appendMetadata(b, v.conn)
	b = append(b, `,"statuses":[{"id":"`...)
	b = append(b, v.id...)
	b = append(b, `","status":"`...)
	b = append(b, v.status...)
	b = append(b, `","timestamp":`...)
	b = s.appendTime(b, v.at)
	if !s.opt.Events.OmitRecipient {
		b = append(b, `,"recipient_id":"`...)
		b = strconv.AppendUint(b, v.to, 10)
		b = append(b, '"')
	}
	if s.opt.API == APICloud {
		b = s.appendMark(b, it, v)
	}
	if v.code != 0 {
		b = append(b, `,"errors":[{"code":`...)
		b = strconv.AppendInt(b, int64(v.code), 10)
		b = append(b, `,"title":"`...)
		b = append(b, area.TitleOf(v.code)...)
		b = append(b, `","message":"`...)
		b = append(b, area.TitleOf(v.code)...)
		b = append(b, `","error_data":{"details":"`...)
		b = append(b, area.TitleOf(v.code)...)
		b = append(b, `"},"href":"/documentation/business-messaging/whatsapp/support/error-codes"}]`...)
	}
	return append(b, `}]},"field":"messages"}]}`...)
}

// appendMark appends what a status of the Cloud API has besides: the mark of its message, and the
// price on sent and delivered.
func (s *Sandbox) appendMark(b []byte, it item, v view) []byte {
	if v.mark != "" && !s.fires(s.faults.Load(), faultMarkMissing, uint64(it.index), uint64(it.slot)) {
		b = append(b, `,"biz_opaque_callback_data":`...)
		b = appendJSON(b, v.mark)
	}
	if v.category != "" && (it.slot == slotSent || it.slot == slotDelivered) {
		b = append(b, `,"pricing":{"billable":true,"pricing_model":"PMP","type":"regular","category":"`...)
		b = append(b, strings.ToLower(v.category)...)
		b = append(b, `"}`...)
	}
	return b
}

// accountID is the platform's id of the business account of a company.
func (s *Sandbox) accountID(company string) int64 {
	id := int64(firstAccount)
	if c := s.company[company]; c != nil { // New fills the map; it does not change later
		id += int64(c.number)
	}
	return id
}

func appendMetadata(b []byte, c *connection) []byte {
	b = append(b, `"metadata":{"display_phone_number":"`...)
	b = strconv.AppendUint(b, c.phone, 10)
	b = append(b, `","phone_number_id":"`...)
	b = strconv.AppendInt(b, firstNumber+int64(c.number), 10)
	return append(b, `"}`...)
}
