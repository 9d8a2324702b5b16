package messaging

import (
	"errors"
	"time"
)

// Kind is what an event is about.
type Kind uint8

// The kinds, and the fields of Event that they set. A KindUnknown event is counted and answered
// 2xx, because the service may send more kinds than we know.
const (
	KindUnknown    Kind = iota
	KindStatus          // the delivery status of a message: MessageID, Status, Recipient, Code
	KindMessage         // a customer wrote: Inbound, MessageID
	KindTemplate        // the review, the pause or the category of a template: Review
	KindPreference      // a customer stopped or resumed marketing: Preference
	KindNumber          // a number changed: Change
	KindAccount         // an account or a company changed: Change
)

// String returns the word used in logs and metrics.
func (k Kind) String() string {
	return [...]string{"unknown", "status", "message", "template", "preference", "number", "account"}[k]
}

// Status is a delivery status as the service names it (docs/service.md#statuses).
type Status string

// The statuses.
const (
	StatusSent      Status = "sent"
	StatusDelivered Status = "delivered"
	StatusRead      Status = "read"
	StatusFailed    Status = "failed"
)

// Known reports whether campaignd follows the status.
func (s Status) Known() bool {
	switch s {
	case StatusSent, StatusDelivered, StatusRead, StatusFailed:
		return true
	}
	return false
}

// Event is one event of a webhook. The fields that its kind does not have are zero.
type Event struct {
	Kind Kind
	// Type is the type in the event's own words, such as message.status or messages/statuses.
	Type string
	// At is the event's own time, in UTC; zero if it has none.
	At time.Time
	// Connection is the connectionId; "" if the event names none.
	Connection string
	// Number is the number of the connection, in digits, if the event shows it.
	Number string
	// NumberID is the platform's id of the number, if the event shows it.
	NumberID string
	// Account is the platform's id of the business account, if the event shows it.
	Account string

	// MessageID is the id of the message, in events of KindStatus and KindMessage.
	MessageID string
	// Status is the new status, in events of KindStatus.
	Status Status
	// Recipient is the recipient in digits: from the event, else from the messageId; "" if unknown.
	Recipient string
	// UserID is the platform's id of the recipient or the customer, if the event shows it. A person
	// with a user name may have no number in an event (docs/service.md#user-ids).
	UserID string
	// Contacts are the persons whom the event names by a user id. The first event of a change has the
	// persons of the whole change.
	Contacts []Contact
	// Mark is Message.Mark as it came back; "" if the event has none.
	Mark string
	// Pricing is nil if the event says nothing about the price.
	Pricing *Pricing
	// Code, Title and Details say why a message failed, or which error a number has.
	Code    int
	Title   string
	Details string

	Inbound    *Inbound
	Review     *Review
	Preference *Preference
	// Change is nil in an event of KindNumber or KindAccount that tells no state.
	Change *Change
}

// Pricing is how the platform bills a message. It tells no amount.
type Pricing struct {
	// Type is regular, free_customer_service, free_entry_point or another word; "" if not told.
	Type string
	// Category is lower case: marketing, utility, authentication and others.
	Category string
	Billable bool
}

// Contact is a person whom an event names by a user id.
type Contact struct {
	UserID string
	Number string // in digits; "" if the event does not show it
}

// Inbound is a message of a customer.
type Inbound struct {
	// From is the sender in digits; "" if the event names the sender by Event.UserID alone.
	From string
	// Type is text, button, interactive, image, system or another type of the platform.
	Type string
	// Text is the text, the label of the pressed button or the caption, at most 4 KiB.
	Text string
	// ButtonPayload is the payload of the pressed button, at most 4 KiB.
	ButtonPayload string
	// ContextID is the messageId of the message that this one answers.
	ContextID string
	// MovedTo is the new number of the customer in digits, if the customer changed it.
	MovedTo string
}

// Review is what happened to a template.
type Review struct {
	Name string
	// Language is written as in sends: en_US.
	Language string
	// Event is upper case: APPROVED, PAUSED, DISABLED, REJECTED and others of the platform, QUALITY or
	// CATEGORY.
	Event string
	// Category is the new category, upper case.
	Category string
	// Reason is FIRST_PAUSE, TAG_CONTENT_MISMATCH, RED or another reason; "" for NONE.
	Reason string
}

// Preference is the wish of a customer about marketing.
type Preference struct {
	// From is the customer's number in digits; "" if the event names a user id alone.
	From string
	// Stop is false if the customer resumes marketing.
	Stop bool
}

// The limits of one body (docs/service.md#delivery-of-events).
const (
	// MaxEvents is the largest number of events in one delivery.
	MaxEvents = 1000
	// MaxBody is the longest body of one delivery, in bytes. The platform sends up to 3 MB, and the
	// service may add its own envelope.
	MaxBody = 4 << 20
)

// The errors of a body that cannot be read at all. A smaller fault gives a KindUnknown event.
var (
	ErrBodyTooLarge  = errors.New("webhook body is larger than 4 MiB")
	ErrTooManyEvents = errors.New("webhook body holds more than 1000 events")
	ErrBody          = errors.New("webhook body is not a JSON object or array")
)

// Batch collects the events of one body of a webhook, at most MaxEvents.
type Batch struct {
	Events []Event
	// OptOut finds the opt-outs in the history of a number.
	OptOut OptOut
}

// Add adds an event. The error is ErrTooManyEvents.
func (b *Batch) Add(e Event) error {
	if len(b.Events) == MaxEvents {
		return ErrTooManyEvents
	}
	b.Events = append(b.Events, e)
	return nil
}
