package sandbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Inbound is a message from a recipient to a connection, or a preference that the recipient sets in
// the platform's app. Exactly one of Text, Button and Preference is set.
type Inbound struct {
	Connection string `json:"connectionId"`
	// From is the phone number of the recipient.
	From   string `json:"from"`
	Text   string `json:"text"`
	Button *Press `json:"button"`
	// Context is the messageId that the message answers.
	Context string `json:"context"`
	// Preference is stop or resume, for marketing (docs/service.md#opt-outs).
	Preference string `json:"preference"`
	// Ago is how long ago it happened, such as 23h. Default: now.
	Ago string `json:"ago"`
}

// Press is a press on the quick reply button of a template.
type Press struct {
	Payload string `json:"payload"`
	Text    string `json:"text"`
}

// OptOut is a recipient who is opted out of the marketing of a company.
type OptOut struct {
	Company string `json:"company"`
	// Phone is E.164.
	Phone string    `json:"phone"`
	At    time.Time `json:"at"`
	// AckedAt is the first 2xx of the webhook with the STOP; zero if there is none.
	AckedAt time.Time `json:"ackedAt,omitzero"`

	extra int // number of the extra with the STOP, plus 1; 0: none
}

// Receive acts as a recipient. For a message it opens the service window, opts the recipient out if
// the text or the button is STOP, posts message.received, and returns the id of the message. For a
// preference it sets the preference, posts platform.webhook, and returns "".
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
	at := now
	if in.Ago != "" {
		ago, err := time.ParseDuration(in.Ago)
		if err != nil || ago < 0 {
			return "", fmt.Errorf("sandbox: ago %q is not a duration such as 23h", in.Ago)
		}
		at = now.Add(-ago)
	}
	if in.Preference != "" {
		return "", s.prefer(c, from, in.Preference, at)
	}
	s.mu.Lock()
	if s.areas.Blocked(c.ID, from) { // the message does not arrive
		s.mu.Unlock()
		return "", nil
	}
	n := len(s.extras)
	id := wamid(s.boot, c.phone, 0x12, uint64(n))
	x := s.received(c, from, in, id, at)
	s.addExtra(x)
	k := pairKey(c.number, from)
	pr := s.pairs[k]
	pr.inbound = max(pr.inbound, at.UnixNano())
	s.pairs[k] = pr
	c.taken.Add(now) // the throughput counts both directions (docs/limits.md#throughput)
	// A recipient who replies STOP is opted out of marketing. The document shows no other word
	// (docs/service.md#opt-outs).
	if isStop(in) {
		key := pairKey(c.company.number, from)
		if _, out := s.optedOut[key]; !out {
			s.optedOut[key] = OptOut{Company: c.Company, Phone: formatPhone(from), At: at, extra: n + 1}
		}
	}
	s.mu.Unlock()
	s.pushExtra(n, now)
	return id, nil
}

func isStop(in Inbound) bool {
	text := in.Text
	if in.Button != nil {
		text = in.Button.Text
	}
	return strings.EqualFold(strings.TrimSpace(text), "stop")
}

// stop makes the recipient of record i write STOP, for FateStop.
func (s *Sandbox) stop(i uint32) {
	var in Inbound
	s.records.with(i, func(rec *record) {
		id := wamid(s.boot, rec.to, 0x11, uint64(i))
		in = Inbound{Connection: s.connections[rec.conn].ID, From: formatPhone(rec.to), Text: "STOP", Context: id}
	})
	if _, err := s.Receive(in); err != nil { // only a bug of the sandbox leads here
		s.opt.Log.Error("recipient could not write STOP", "err", err)
	}
}

// prefer sets the preference of a recipient at the platform. After a stop the service still accepts
// marketing messages, and they fail with 131050.
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
	change := fmt.Appendf(nil, `{"messaging_product":"whatsapp",%s,"contacts":[{"profile":{"name":"Sandbox"},"wa_id":%q}],`+
		`"user_preferences":[{"wa_id":%q,"detail":%q,"category":"marketing_messages","value":%q,"timestamp":%d}]}`,
		appendMetadata(nil, c), digits, digits, detail, value, now.Unix())
	// The document does not show the service's own form, so data contains the platform's form.
	data := fmt.Appendf(nil, `{"object":"whatsapp_business_account","entry":[`+
		`{"id":"%d","changes":[{"value":%s,"field":"user_preferences"}]}]}`, s.accountID(c.Company), change)
	s.mu.Lock()
	key := pairKey(c.company.number, from)
	if value == "stop" {
		s.stopped[key] = true
	} else {
		delete(s.stopped, key)
	}
	n := s.addExtra(&extra{
		typ: "platform.webhook", company: c.Company, conn: c, at: now, data: data, field: "user_preferences", value: change,
	})
	s.mu.Unlock()
	s.pushExtra(n, now)
	return nil
}

// received returns a message.received event in both envelopes (docs/service.md#events).
func (s *Sandbox) received(c *connection, from uint64, in Inbound, id string, now time.Time) *extra {
	var at []byte
	at = s.appendTime(at, now)
	d := fmt.Appendf(nil, `{"messageId":%q,"from":"+%d","timestamp":%s,`, id, from, at)
	v := fmt.Appendf(nil, `{"messaging_product":"whatsapp",%s,"contacts":[{"profile":{"name":"Sandbox"},"wa_id":"%d"}],`+
		`"messages":[{"from":"%d","id":%q,"timestamp":"%d",`, appendMetadata(nil, c), from, from, id, now.Unix())
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
	return &extra{
		typ: "message.received", company: c.Company, conn: c, at: now,
		data: append(d, '}'), field: "messages", value: append(v, "}]}"...),
	}
}

// appendJSON appends a string as JSON.
func appendJSON(b []byte, v string) []byte {
	raw, _ := json.Marshal(v) // a string gives no error
	return append(b, raw...)
}
