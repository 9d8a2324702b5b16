package campaign

// TemplateEvent is a change of a template by the platform, from a verified webhook.
type TemplateEvent struct {
	Name     string
	Language string // as sent: en_US
	Event    string // in upper case: APPROVED, PAUSED, DISABLED ...; Effect says what it means
	Category string // in upper case: that of the template from now on; "": the event tells none
	Reason   string // for the operator
}

// EventEffect is what an event about a template, an account or a number does to holds
// (docs/protocol.md#holds).
type EventEffect uint8

// The effects. EventNoted is also the effect of an unknown event: an operator would have to lift a
// wrong hold, but a template that cannot be sent is refused at the next message. That refusal
// begins the hold and harms no recipient.
const (
	EventNoted        EventEffect = iota // nothing is held; the operator is told
	EventHolds                           // a hold begins, which another event or the operator lifts
	EventHoldsForGood                    // a hold begins, which only the operator lifts
	EventLifts                           // ends the holds that EventHolds or a refusal began
)

// String is the effect's label in metrics and logs.
func (e EventEffect) String() string {
	return [...]string{"noted", "pauses", "ends", "resumes"}[e]
}

// templateEffects holds every event with an effect. Only an approved template can be sent, so an
// event that ends the approval begins a hold. The events and their meaning are at
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/message_template_status_update
//
// The approval survives FLAGGED (may be disabled), LOCKED (cannot be edited), LIMIT_EXCEEDED (the
// account has its maximum of templates), and changes of quality and category. They are noted.
var templateEffects = map[string]EventEffect{
	"APPROVED":   EventLifts,
	"REINSTATED": EventLifts, // no longer flagged or disabled
	"UNPAUSED":   EventLifts,
	"UNPAUSE":    EventLifts, // as the platform writes it in other_info.title
	"UNARCHIVED": EventLifts,

	"PAUSED":    EventHolds, // for 3 hours, the second time 6 hours, then DISABLED
	"PENDING":   EventHolds, // edited, and in review again: see Edited
	"IN_APPEAL": EventHolds, // an appeal against a rejection or disabling
	"REJECTED":  EventHolds, // may be edited or appealed
	"ARCHIVED":  EventHolds, // deleted after 28 days unless it is unarchived

	// A template that returns under the same name may be a different one.
	"DISABLED":         EventHoldsForGood,
	"PENDING_DELETION": EventHoldsForGood, // deleted; earlier messages are still delivered
	"DELETED":          EventHoldsForGood,
}

// Effect returns what the event does to the holds of its template.
func (e TemplateEvent) Effect() EventEffect { return templateEffects[e.Event] }

// Edited reports whether somebody edited the template. The approval of the new text lifts the hold
// of the template, but not those of the runs that were launched with the old one (EditedHold).
func (e TemplateEvent) Edited() bool { return e.Event == "PENDING" }

// MadeMarketing reports whether the platform counts the template as marketing from now on.
func (e TemplateEvent) MadeMarketing() bool { return e.Category == "MARKETING" }
