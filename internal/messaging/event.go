package messaging

import (
	"bytes"
	"errors"
	"time"
)

// Kind is what an event is about.
type Kind uint8

// The kinds. KindUnknown events are counted and answered 2xx: the service may tell more than we know.
const (
	KindUnknown    Kind = iota
	KindStatus          // a message's delivery status: MessageID, Status ...
	KindMessage         // a customer wrote: Inbound
	KindTemplate        // a template's review, pause or category: Review
	KindPreference      // a customer stopped or resumed marketing: Preference
	KindNumber          // a number changed: Summary
	KindAccount         // an account changed: Summary
)

// String gives the word used in logs and metrics.
func (k Kind) String() string {
	return [...]string{"unknown", "status", "message", "template", "preference", "number", "account"}[k]
}

// Status is a delivery status as the service names it (seed 000, Resources).
type Status string

// The statuses.
const (
	StatusSent      Status = "sent"
	StatusDelivered Status = "delivered"
	StatusRead      Status = "read"
	StatusFailed    Status = "failed"
)

// Event is one thing that a webhook told. Fields that its kind does not have are zero.
type Event struct {
	Kind Kind
	ID   string // the service's id of the event; "" in the platform's envelope
	Type string // as written: message.status, messages/statuses ...
	// At is the event's own time, UTC; zero when it gives none.
	At time.Time
	// Connection is the connectionId; "" when the event names none. Number is then the connection's own number, in
	// digits, where the event shows it.
	Connection string
	Number     string

	// Of KindStatus, and MessageID of KindMessage too.
	MessageID string
	Status    Status
	// Recipient in digits: from the event, else read from the messageId; "" unknown.
	Recipient string
	// Code, Title and Details say why a message failed, or what a number's error is.
	Code    int
	Title   string
	Details string

	Inbound    *Inbound
	Review     *Review
	Preference *Preference
	// Summary is the event as it came, cut at 1 KiB: of KindNumber, KindAccount and KindUnknown.
	Summary string
}

// Inbound is a customer's message.
type Inbound struct {
	From          string // digits; or a platform user id where there is no number (platform.md 4.3)
	Type          string // text, button, interactive, image, system ...
	Text          string // of a text, the label of a button, a caption; at most 4 KiB
	ButtonPayload string
	ContextID     string // messageId that it answers
	MovedTo       string // digits, when the customer changed number (platform.md 4.4): opt-outs move along
}

// Review is what happened to a template.
type Review struct {
	ID       string
	Name     string
	Language string // as sends write it: en_US
	Event    string // upper case: APPROVED, PAUSED, DISABLED, REJECTED ..., QUALITY, CATEGORY
	Category string // upper case; the new one
	Reason   string // FIRST_PAUSE, TAG_CONTENT_MISMATCH, RED ...; "" for NONE
}

// Preference is a customer's wish about marketing.
type Preference struct {
	From string // digits
	Stop bool   // false: resume
}

// The limits of one body.
const (
	// MaxEvents in one delivery (platform.md 4.2: batches of up to 1,000).
	MaxEvents = 1000
	// MaxBody of one delivery in bytes (platform.md 4.2: up to 3 MB).
	MaxBody = 4 << 20
)

// What makes a whole body unreadable. Anything less is a KindUnknown event.
var (
	ErrBodyTooLarge  = errors.New("webhook body is larger than 4 MiB")
	ErrTooManyEvents = errors.New("webhook body holds more than 1000 events")
	ErrBody          = errors.New("webhook body is not a JSON object or array")
)

// DecodeEvents reads a webhook body with the assumptions of design section 9.
func DecodeEvents(body []byte) ([]Event, error) { return Assumed{}.DecodeEvents(body) }

// DecodeEvents reads a webhook body: the service's event, an array of them, {events: [...]}, or the
// platform's own envelope wherever it sits. Call it after the signature is verified. Events come in the order of
// the body. An error means that nothing of it can be trusted to be complete.
func (a Assumed) DecodeEvents(body []byte) ([]Event, error) {
	if len(body) > MaxBody {
		return nil, ErrBodyTooLarge
	}
	v, err := parse(body)
	if err != nil {
		return nil, errors.Join(ErrBody, err)
	}
	if !v.isObject() && !v.isArray() {
		return nil, ErrBody
	}
	d := decoder{rename: a.Events}
	if err := d.body(v); err != nil {
		return nil, err
	}
	return d.events, nil
}

// decoder collects the events of one body.
type decoder struct {
	rename map[string]string
	events []Event
}

func (d *decoder) add(e Event) error {
	if len(d.events) == MaxEvents {
		return ErrTooManyEvents
	}
	d.events = append(d.events, e)
	return nil
}

// body reads one event, an array of them, or an object with a list of them.
func (d *decoder) body(v value) error {
	if !v.isArray() {
		return d.one(v)
	}
	for m := v.members(); m.next(); {
		if err := d.one(m.val); err != nil {
			return err
		}
	}
	return nil
}

// one reads one element of a body.
func (d *decoder) one(v value) error {
	if !v.isObject() {
		return d.add(Event{Type: "not an object", Summary: summary(v)})
	}
	var env envelope
	env.read(v)
	if env.isBatch() {
		return d.body(env.list) // nesting is bounded by maxDepth
	}
	if bytes.Contains(v, []byte(platformObject)) { // nearly free; the search is not
		if p := findPlatform(v, 0); p != nil {
			return d.platform(p, &env)
		}
	}
	return d.service(v, &env)
}

func summary(v value) string { return cut(string(v), 1024) }
