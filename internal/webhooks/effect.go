package webhooks

import (
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// eventEffect is what an event about a template, an account or a number does to holds
// (docs/protocol.md#holds).
type eventEffect uint8

// The effects. eventNoted is also the effect of an unknown event: an operator would have to lift a
// wrong hold, but a template that cannot be sent is refused at the next message. That refusal
// begins the hold and harms no recipient.
const (
	eventNoted        eventEffect = iota // nothing is held; the operator is told
	eventHolds                           // a hold begins, which another event or the operator lifts
	eventHoldsForGood                    // a hold begins, which only the operator lifts
	eventLifts                           // ends the holds that eventHolds or a refusal began
)

// String is the effect's label in metrics and logs.
func (e eventEffect) String() string {
	return [...]string{"noted", "pauses", "ends", "resumes"}[e]
}

// wordEffect is what a word of an event does to holds.
type wordEffect struct {
	effect   eventEffect
	sentence string // of a hold, without a full stop at its end
}

// hold returns the hold that an event with this word begins.
func (w wordEffect) hold(scope campaign.HoldScope, id, word string, at time.Time) campaign.Hold {
	return campaign.Hold{Scope: scope, ID: id, Reason: word, Detail: w.sentence, Source: campaign.HoldByEvent, Since: at,
		Manual: w.effect == eventHoldsForGood}
}

// changeWords holds every word of messaging.Change with an effect (docs/service.md#account-events).
// Every other word is noted, as are changes of quality, throughput and tier, and RATE_LIMITED and
// FLAGGED: messages may still be accepted, and a refusal holds by itself.
var changeWords = map[string]wordEffect{
	"DISABLE":                            {eventHolds, "the platform has disabled the business account"},
	"RESTRICTED_BIZ_INITIATED_MESSAGING": {eventHolds, "the platform does not let the business account begin conversations"},
	"ACCOUNT_OFFBOARDED":                 {eventHolds, "the business account was disconnected from the service"},
	"ACCOUNT_DELETED":                    {eventHoldsForGood, "the business account was deleted"},

	"SUSPENDED":    {eventHolds, "the service reports it as suspended"},
	"DEACTIVATED":  {eventHolds, "the service reports it as deactivated"},
	"DISABLED":     {eventHolds, "the service reports it as disabled"},
	"INACTIVE":     {eventHolds, "the service reports it as inactive"},
	"RESTRICTED":   {eventHolds, "the service reports it as restricted"},
	"BLOCKED":      {eventHolds, "the service reports it as blocked"},
	"BANNED":       {eventHolds, "the service reports it as banned"},
	"LOCKED":       {eventHolds, "the service reports it as locked"},
	"DISCONNECTED": {eventHolds, "the service reports it as disconnected"},
	"UNLINKED":     {eventHolds, "the service reports it as disconnected"},
	"MIGRATED":     {eventHolds, "the number was moved to another account"},
	"DELETED":      {eventHolds, "the service reports it as deleted"},

	"REINSTATE": {effect: eventLifts}, "REINSTATED": {effect: eventLifts}, "ACCOUNT_RECONNECTED": {effect: eventLifts},
	"ACTIVE": {effect: eventLifts}, "ENABLED": {effect: eventLifts}, "LIVE": {effect: eventLifts},
	"OK": {effect: eventLifts}, "UNRESTRICTED": {effect: eventLifts}, "CONNECTED": {effect: eventLifts},
	"LINKED": {effect: eventLifts}, "RECONNECTED": {effect: eventLifts},
}

// changeHold returns the hold that a change begins: until the time that the event gives, or until
// one that lifts it.
func changeHold(scope campaign.HoldScope, id string, c *messaging.Change, at time.Time) campaign.Hold {
	h := changeWords[c.Word].hold(scope, id, c.Word, at)
	h.Until = c.Until
	return h
}

// reviewWords holds every template event with an effect. Only an approved template can be sent, so
// an event that ends the approval begins a hold. The events and their meaning are at
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/message_template_status_update
//
// The approval survives FLAGGED (may be disabled), LOCKED (cannot be edited), LIMIT_EXCEEDED (the
// account has its maximum of templates), and changes of quality and category. They are noted.
var reviewWords = map[string]wordEffect{
	"APPROVED":   {effect: eventLifts},
	"REINSTATED": {effect: eventLifts}, // no longer flagged or disabled
	"UNPAUSED":   {effect: eventLifts},
	"UNPAUSE":    {effect: eventLifts}, // as the platform writes it in other_info.title
	"UNARCHIVED": {effect: eventLifts},

	// The platform pauses a template for 3 hours, the second time for 6 hours, then disables it.
	"PAUSED":    {eventHolds, "the platform has paused the template because of its quality"},
	"PENDING":   {eventHolds, "the template is in review"},              // edited, and in review again: see edited
	"IN_APPEAL": {eventHolds, "the template is in appeal"},              // against a rejection or disabling
	"REJECTED":  {eventHolds, "the platform has rejected the template"}, // may be edited or appealed
	"ARCHIVED":  {eventHolds, "the template is archived"},               // deleted after 28 days unless it is unarchived

	// A template that returns under the same name may be a different one. Messages that were sent
	// before a deletion are still delivered.
	"DISABLED":         {eventHoldsForGood, "the platform has disabled the template"},
	"PENDING_DELETION": {eventHoldsForGood, "the template is being deleted"},
	"DELETED":          {eventHoldsForGood, "the template was deleted"},
}

// reviewHold returns the hold that a template event begins, on the template of one account.
func reviewHold(account string, r *messaging.Review, at time.Time) campaign.Hold {
	h := reviewWords[r.Event].hold(campaign.HoldTemplate, campaign.TemplateID(account, r.Name, r.Language), r.Event, at)
	if r.Reason != "" {
		h.Detail += ": " + r.Reason
	}
	return h
}

// edited reports whether somebody edited the template. The approval of the new text lifts the hold
// of the template, but not those of the runs that were launched with the old one
// (campaign.EditedHold).
func edited(r *messaging.Review) bool { return r.Event == campaign.TemplateInReview }

// madeMarketing reports whether the platform counts the template as marketing from now on.
func madeMarketing(r *messaging.Review) bool { return r.Category == "MARKETING" }
