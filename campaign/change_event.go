package campaign

import (
	"time"

	"campaignd/internal/messaging"
)

// changeRow is what a word of messaging.Change does to holds.
type changeRow struct {
	effect   EventEffect
	sentence string // of a hold, without a full stop at its end
}

// changes holds every word with an effect (docs/service.md#account-events). Every other word is
// noted, as are changes of quality, throughput and tier, and RATE_LIMITED and FLAGGED: messages may
// still be accepted, and a refusal holds by itself.
var changes = map[string]changeRow{
	"DISABLE":                            {EventHolds, "the platform has disabled the business account"},
	"RESTRICTED_BIZ_INITIATED_MESSAGING": {EventHolds, "the platform does not let the business account begin conversations"},
	"ACCOUNT_OFFBOARDED":                 {EventHolds, "the business account was disconnected from the service"},
	"ACCOUNT_DELETED":                    {EventHoldsForGood, "the business account was deleted"},

	"SUSPENDED":    {EventHolds, "the service reports it as suspended"},
	"DEACTIVATED":  {EventHolds, "the service reports it as deactivated"},
	"DISABLED":     {EventHolds, "the service reports it as disabled"},
	"INACTIVE":     {EventHolds, "the service reports it as inactive"},
	"RESTRICTED":   {EventHolds, "the service reports it as restricted"},
	"BLOCKED":      {EventHolds, "the service reports it as blocked"},
	"BANNED":       {EventHolds, "the service reports it as banned"},
	"LOCKED":       {EventHolds, "the service reports it as locked"},
	"DISCONNECTED": {EventHolds, "the service reports it as disconnected"},
	"UNLINKED":     {EventHolds, "the service reports it as disconnected"},
	"MIGRATED":     {EventHolds, "the number was moved to another account"},
	"DELETED":      {EventHolds, "the service reports it as deleted"},

	"REINSTATE": {effect: EventLifts}, "REINSTATED": {effect: EventLifts}, "ACCOUNT_RECONNECTED": {effect: EventLifts},
	"ACTIVE": {effect: EventLifts}, "ENABLED": {effect: EventLifts}, "LIVE": {effect: EventLifts},
	"OK": {effect: EventLifts}, "UNRESTRICTED": {effect: EventLifts}, "CONNECTED": {effect: EventLifts},
	"LINKED": {effect: EventLifts}, "RECONNECTED": {effect: EventLifts},
}

// ChangeEffect returns what an event with this word does to the holds of its number, account or
// company.
func ChangeEffect(word string) EventEffect { return changes[word].effect }

// ChangeHold returns the hold that an event with this word begins: until the time that the event
// gives, or until one that lifts it.
func ChangeHold(scope HoldScope, id string, c messaging.Change, at time.Time) Hold {
	row := changes[c.Word]
	return Hold{Scope: scope, ID: id, Reason: c.Word, Detail: row.sentence, Source: HoldByEvent, Since: at, Until: c.Until,
		Manual: row.effect == EventHoldsForGood}
}

// TemplateEdited is the reason of the hold of a run whose template was edited after its launch.
const TemplateEdited = "template_edited"

// EditedHold returns the hold of a run whose template was edited at a time after its launch. Only
// an operator ends it, because the values of the run may not fit the new text.
func EditedHold(run Run, at time.Time) Hold {
	return Hold{Scope: HoldRun, ID: run.ID(), Reason: TemplateEdited, Source: HoldByEvent, Since: at, Manual: true,
		Detail: "its template was edited after the launch, and the values of this run may not fit the new text: see `campaignd preview`"}
}

// templateSentences explain the events that hold a template.
var templateSentences = map[string]string{
	"PAUSED":           "the platform has paused the template because of its quality",
	"PENDING":          "the template is in review",
	"IN_APPEAL":        "the template is in appeal",
	"REJECTED":         "the platform has rejected the template",
	"ARCHIVED":         "the template is archived",
	"DISABLED":         "the platform has disabled the template",
	"PENDING_DELETION": "the template is being deleted",
	"DELETED":          "the template was deleted",
}

// Hold returns the hold that an event with the effect EventHolds or EventHoldsForGood begins, on
// the template of one account.
func (e TemplateEvent) Hold(account string, at time.Time) Hold {
	detail := templateSentences[e.Event]
	if e.Reason != "" {
		detail += ": " + e.Reason
	}
	return Hold{Scope: HoldTemplate, ID: TemplateID(account, e.Name, e.Language), Reason: e.Event, Detail: detail, Source: HoldByEvent,
		Since: at, Manual: e.Effect() == EventHoldsForGood}
}
