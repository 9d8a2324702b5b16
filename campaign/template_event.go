package campaign

// TemplateEvent is what the platform did to a template, from a verified webhook.
type TemplateEvent struct {
	Name, Language string // language as sent: en_US
	Event          string // upper case: APPROVED, PAUSED, DISABLED ...; Effect says what it means
	Reason         string // for the operator
}

// TemplateEffect is what an event does to the runs that use its template.
type TemplateEffect uint8

// The effects. TemplateNoted is also that of an event nobody has heard of: a wrong pause would need an operator to end
// it, while a template that cannot be sent is refused at the next message, which pauses its runs and burns no recipient.
const (
	TemplateNoted   TemplateEffect = iota // the runs go on; the operator is told
	TemplatePauses                        // the runs pause until an event approves the template again
	TemplateEnds                          // the runs pause; no event resumes them, the operator does
	TemplateResumes                       // runs that an event of TemplatePauses or a refusal paused go on
)

// String is the effect's label in metrics and logs.
func (e TemplateEffect) String() string {
	return [...]string{"noted", "pauses", "ends", "resumes"}[e]
}

// templateEffects holds every event with an effect. Only an approved template can be sent, so whatever takes the approval
// away pauses. The events and their meaning:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/message_template_status_update
// FLAGGED (at risk of being disabled), LOCKED (cannot be edited), LIMIT_EXCEEDED (the account has as many templates as it
// may), quality and category leave the approval, and are noted.
var templateEffects = map[string]TemplateEffect{
	"APPROVED":   TemplateResumes,
	"REINSTATED": TemplateResumes, // no longer flagged or disabled
	"UNPAUSED":   TemplateResumes,
	"UNPAUSE":    TemplateResumes, // as the platform writes it in other_info.title
	"UNARCHIVED": TemplateResumes,

	"PAUSED":    TemplatePauses, // 3 hours, then 6 hours, then DISABLED
	"PENDING":   TemplatePauses, // edited: in review again
	"IN_APPEAL": TemplatePauses, // against a rejection or a disabling
	"REJECTED":  TemplatePauses, // it may be edited, or appealed against
	"ARCHIVED":  TemplatePauses, // deleted after 28 days unless it is unarchived

	// A template that comes back under the same name may be another one.
	"DISABLED":         TemplateEnds,
	"PENDING_DELETION": TemplateEnds, // deleted, while earlier messages are still delivered
	"DELETED":          TemplateEnds,
}

// Effect says what the event does to the runs of its template: the one rule of the webhooks and of both ledgers.
func (e TemplateEvent) Effect() TemplateEffect { return templateEffects[e.Event] }
