package campaign

// TemplateEvent is a change of a template by the platform, from a verified webhook.
type TemplateEvent struct {
	Name     string
	Language string // as sent: en_US
	Event    string // in upper case: APPROVED, PAUSED, DISABLED ...; Effect says what it means
	Reason   string // for the operator
}

// TemplateEffect is what an event does to the runs that use its template.
type TemplateEffect uint8

// The effects. TemplateNoted is also the effect of an unknown event: a wrong pause would need an
// operator to end it, but a template that cannot be sent is refused at the next message. That
// pauses its runs and harms no recipient.
const (
	TemplateNoted   TemplateEffect = iota // the runs go on; the operator is told
	TemplatePauses                        // the runs pause until an event approves the template again
	TemplateEnds                          // the runs pause until the operator resumes them; no event does
	TemplateResumes                       // runs that TemplatePauses or a refusal paused go on
)

// String is the effect's label in metrics and logs.
func (e TemplateEffect) String() string {
	return [...]string{"noted", "pauses", "ends", "resumes"}[e]
}

// templateEffects holds every event with an effect. Only an approved template can be sent, so an
// event that ends the approval pauses. The events and their meaning are at
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/message_template_status_update
//
// The approval survives FLAGGED (may be disabled), LOCKED (cannot be edited), LIMIT_EXCEEDED (the
// account has its maximum of templates), and changes of quality and category. They are noted.
var templateEffects = map[string]TemplateEffect{
	"APPROVED":   TemplateResumes,
	"REINSTATED": TemplateResumes, // no longer flagged or disabled
	"UNPAUSED":   TemplateResumes,
	"UNPAUSE":    TemplateResumes, // as the platform writes it in other_info.title
	"UNARCHIVED": TemplateResumes,

	"PAUSED":    TemplatePauses, // for 3 hours, the second time 6 hours, then DISABLED
	"PENDING":   TemplatePauses, // edited, and in review again
	"IN_APPEAL": TemplatePauses, // an appeal against a rejection or disabling
	"REJECTED":  TemplatePauses, // may be edited or appealed
	"ARCHIVED":  TemplatePauses, // deleted after 28 days unless it is unarchived

	// A template that returns under the same name may be a different one.
	"DISABLED":         TemplateEnds,
	"PENDING_DELETION": TemplateEnds, // deleted; earlier messages are still delivered
	"DELETED":          TemplateEnds,
}

// Effect returns what the event does to the runs of its template. Webhooks and both ledgers use
// this one rule.
func (e TemplateEvent) Effect() TemplateEffect { return templateEffects[e.Event] }
