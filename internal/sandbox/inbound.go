package sandbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Inbound is a message that a recipient writes to a connection, or a preference set in
// the platform's app. One of Text, Button and Preference is given.
type Inbound struct {
	Connection string `json:"connectionId"`
	From       string `json:"from"`
	Text       string `json:"text"`
	Button     *Press `json:"button"`
	Context    string `json:"context"`    // messageId that is answered
	Preference string `json:"preference"` // stop or resume: marketing, in the platform's app (platform.md 4.4)
}

// Press is a press on a template's quick reply button.
type Press struct {
	Payload string `json:"payload"`
	Text    string `json:"text"`
}

// OptOut is a recipient opted out of marketing by writing STOP.
type OptOut struct {
	Company string    `json:"company"`
	Phone   string    `json:"phone"` // E.164
	At      time.Time `json:"at"`
	AckedAt time.Time `json:"ackedAt,omitzero"` // 2xx of the webhook that told of it; zero: not yet

	extra int // 1 + its number; 0: none
}

// Receive makes a recipient write. It opens the service window, applies STOP and posts
// message.received; it returns the message's id.
func (s *Sandbox) Receive(in Inbound) (string, error) {
	c := s.connection[in.Connection]
	if c == nil {
		return "", fmt.Errorf("sandbox: no connection %q", in.Connection)
	}
	from, _ := parsePhone(in.From)
	if from == 0 {
		return "", fmt.Errorf("sandbox: from %q is not a phone number", in.From)
	}
	given := 0
	for _, g := range []bool{in.Text != "", in.Button != nil, in.Preference != ""} {
		if g {
			given++
		}
	}
	if given != 1 {
		return "", fmt.Errorf("sandbox: give one of text, button and preference")
	}
	now := time.Now()
	if in.Preference != "" {
		return "", s.prefer(c, from, in.Preference, now)
	}
	s.mu.Lock()
	n := len(s.extras)
	id := wamid(s.boot, c.phone, 0x12, uint64(n))
	x := s.received(c, from, in, id, now)
	s.addExtra(x)
	k := pairKey(c.number, from)
	pr := s.pairs[k]
	pr.inbound = now.UnixNano()
	s.pairs[k] = pr
	c.taken.add(now.UnixNano()) // throughput counts both directions (platform.md 1)
	// A recipient who replies STOP is opted out of marketing (seed 000, States). Other
	// words and languages are not shown.
	if said(in) {
		key := pairKey(c.company.number, from)
		if _, out := s.optedOut[key]; !out {
			s.optedOut[key] = OptOut{Company: c.Company, Phone: formatPhone(from), At: now, extra: n + 1}
		}
	}
	s.mu.Unlock()
	s.pushExtra(n, now)
	return id, nil
}

func said(in Inbound) bool {
	text := in.Text
	if in.Button != nil {
		text = in.Button.Text
	}
	return strings.EqualFold(strings.TrimSpace(text), "stop")
}

// stop is the STOP that the profile makes the recipient of record i write.
func (s *Sandbox) stop(i uint32) {
	var in Inbound
	s.records.with(i, func(rec *record) {
		in = Inbound{Connection: s.connections[rec.conn].ID, From: formatPhone(rec.to), Text: "STOP", Context: wamid(s.boot, rec.to, 0x11, uint64(i))}
	})
	if _, err := s.Receive(in); err != nil { // all of it is ours
		s.opt.Log.Error("recipient could not write STOP", "error", err)
	}
}

// prefer sets the platform's own preference: sends are still accepted, then fail with 131050.
func (s *Sandbox) prefer(c *connection, from uint64, value string, now time.Time) error {
	detail := "User requested to stop marketing messages"
	switch value {
	case "stop":
	case "resume":
		detail = "User requested to resume marketing messages"
	default:
		return fmt.Errorf("sandbox: preference %q is not stop or resume", value)
	}
	digits := strconv.FormatUint(from, 10)
	value64 := fmt.Appendf(nil, `{"messaging_product":"whatsapp",%s,"contacts":[{"profile":{"name":"Sandbox"},"wa_id":%q}],"user_preferences":[{"wa_id":%q,"detail":%q,"category":"marketing_messages","value":%q,"timestamp":%d}]}`,
		appendMetadata(nil, c), digits, digits, detail, value, now.Unix())
	// The service's own form of it is not shown: the platform's is passed on inside data.
	data := fmt.Appendf(nil, `{"object":"whatsapp_business_account","entry":[{"id":"200000000000001","changes":[{"value":%s,"field":"user_preferences"}]}]}`, value64)
	s.mu.Lock()
	key := pairKey(c.company.number, from)
	if value == "stop" {
		s.stopped[key] = true
	} else {
		delete(s.stopped, key)
	}
	n := s.addExtra(&extra{typ: "platform.webhook", company: c.Company, conn: c, at: now, data: data, field: "user_preferences", value: value64})
	s.mu.Unlock()
	s.pushExtra(n, now)
	return nil
}

// received is a message.received event (design section 9), in both envelopes.
func (s *Sandbox) received(c *connection, from uint64, in Inbound, id string, now time.Time) *extra {
	var at []byte
	at = s.appendTime(at, now)
	d := fmt.Appendf(nil, `{"messageId":%q,"from":"+%d","timestamp":%s,`, id, from, at)
	v := fmt.Appendf(nil, `{"messaging_product":"whatsapp",%s,"contacts":[{"profile":{"name":"Sandbox"},"wa_id":"%d"}],"messages":[{"from":"%d","id":%q,"timestamp":"%d",`,
		appendMetadata(nil, c), from, from, id, now.Unix())
	var body []byte
	if in.Button != nil {
		body = append(body, `"type":"button","button":{"payload":`...)
		body = appendJSON(body, in.Button.Payload)
		body = append(body, `,"text":`...)
		body = appendJSON(body, in.Button.Text)
		body = append(body, '}')
	} else {
		body = append(body, `"type":"text","text":{"body":`...)
		body = appendJSON(body, in.Text)
		body = append(body, '}')
	}
	d, v = append(d, body...), append(v, body...)
	if in.Context != "" {
		d = append(d, `,"context":{"messageId":`...)
		d = append(appendJSON(d, in.Context), '}')
		v = append(v, `,"context":{"from":"`...)
		v = strconv.AppendUint(v, c.phone, 10)
		v = append(v, `","id":`...)
		v = append(appendJSON(v, in.Context), '}')
	}
	return &extra{typ: "message.received", company: c.Company, conn: c, at: now, data: append(d, '}'), field: "messages", value: append(v, "}]}"...)}
}

// appendJSON writes a string as JSON.
func appendJSON(b []byte, v string) []byte {
	raw, _ := json.Marshal(v) // a string always marshals
	return append(b, raw...)
}
