package wording

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// HoldState is a hold as commands show it. Scripts rely on its JSON
// (docs/operations.md#what-scripts-may-rely-on).
type HoldState struct {
	Scope  campaign.HoldScope  `json:"scope"`
	ID     string              `json:"id"`
	Reason string              `json:"reason"`
	Detail string              `json:"detail"`
	Source campaign.HoldSource `json:"source"`
	Who    string              `json:"who,omitempty"` // the operator who began it
	Since  time.Time           `json:"since"`
	Until  *time.Time          `json:"until"` // nil: it does not end by itself
	// Ended is when an event or an operator lifted it, or when its time was over.
	Ended     *time.Time `json:"ended,omitempty"`
	LiftedWho string     `json:"lifted_who,omitempty"` // the operator who lifted it
	// Sentence says what is stopped, since when, why, and what ends it.
	Sentence string `json:"sentence"`
}

// State returns the hold as commands show it at now.
func State(h campaign.Hold, now time.Time) HoldState {
	s := HoldState{Scope: h.Scope, ID: h.ID, Reason: h.Reason, Detail: h.Detail, Source: h.Source, Who: h.Who, LiftedWho: h.LiftedWho,
		Since:    h.Since.UTC(),
		Sentence: Hold(h, now)}
	if until := h.Until.UTC(); !h.Until.IsZero() {
		s.Until = &until
	}
	if over := ended(h).UTC(); !h.InForce(now) && !h.Probing(now) && !over.IsZero() {
		s.Ended = &over
	}
	return s
}

// States returns holds as commands show them; never nil.
func States(holds []campaign.Hold, now time.Time) []HoldState {
	out := make([]HoldState, len(holds))
	for i, h := range holds {
		out[i] = State(h, now)
	}
	return out
}

// ended is when a hold that is over ended.
func ended(h campaign.Hold) time.Time {
	if !h.Lifted.IsZero() {
		return h.Lifted
	}
	return h.Until
}

// Hold says in one sentence what the hold stops, since when, why, what ends it, and the command
// that ends it earlier.
func Hold(h campaign.Hold, now time.Time) string {
	since, why := sentence.Instant(h.Since), holdReason(h)
	switch {
	case h.Probing(now) && h.Tried():
		return fmt.Sprintf("%s is tried with one queued row at a time, since %s: %s; the row stays queued if it is refused again; "+
			"%s; `%s` ends the hold", holdSubject(h), sentence.Instant(h.Until), why, triedEnd, liftCommand(h))
	case h.Probing(now):
		return fmt.Sprintf("%s is tried with at most 3 requests at a time, since %s: %s; the first proven answer ends it, or `%s`",
			holdSubject(h), sentence.Instant(h.Until), why, liftCommand(h))
	case !h.InForce(now):
		by := "its time was over"
		if !h.Lifted.IsZero() {
			by = lifted(h)
		}
		return fmt.Sprintf("%s was held from %s to %s: %s; %s", holdSubject(h), since, sentence.Instant(ended(h)), why, by)
	}
	return fmt.Sprintf("%s is held since %s: %s; %s", holdSubject(h), since, why, holdEnd(h))
}

// endedBy says what lifted a hold. The proven answer is that to a test request, or a delivery
// (docs/limits.md#accepted-and-too-fast).
var endedBy = map[campaign.HoldSource]string{
	campaign.HoldByEvent:    "an event of the service ended it",
	campaign.HoldByBreaker:  "a proven answer ended it",
	campaign.HoldByOperator: "an operator lifted it",
}

// lifted says what lifted the hold.
func lifted(h campaign.Hold) string {
	if h.LiftedBy == campaign.HoldByOperator && h.LiftedWho != "" {
		return h.LiftedWho + " lifted it"
	}
	return endedBy[h.LiftedBy]
}

// holdSubjects name what a hold of a scope stops: all of it, and one by its id.
var holdSubjects = map[campaign.HoldScope]struct{ all, one string }{
	campaign.HoldKey:        {"everything that is sent with any API key", "everything that is sent with the API key "},
	campaign.HoldCompany:    {"everything that is sent for any company", "everything that is sent for company "},
	campaign.HoldAccount:    {"everything that is sent from any business account", "everything that is sent from business account "},
	campaign.HoldPortfolio:  {"everything that is sent from any portfolio", "everything that is sent from portfolio "},
	campaign.HoldTemplate:   {all: "every template"},
	campaign.HoldConnection: {"every connection", "connection "},
	campaign.HoldRun:        {"every run", "run "},
}

// holdSubject names what is stopped, in the singular.
func holdSubject(h campaign.Hold) string {
	subject := holdSubjects[h.Scope]
	switch {
	case h.ID == campaign.HoldAny:
		return subject.all
	case h.Scope == campaign.HoldTemplate:
		return holdTemplate(h)
	}
	return subject.one + h.ID
}

// holdTemplate names one template, of its account or of every one.
func holdTemplate(h campaign.Hold) string {
	account, rest, _ := strings.Cut(h.ID, "/")
	name, language, _ := strings.Cut(rest, "/")
	s := "template " + name
	if language != "" {
		s += " (" + language + ")"
	}
	if account == "" {
		return s + " of every account"
	}
	return s + " of account " + account
}

// holdReason says why nothing of the scope is sent.
func holdReason(h campaign.Hold) string {
	switch h.Source {
	case campaign.HoldByOperator:
		who := cmp.Or(h.Who, "an operator")
		if h.Detail == "" {
			return who + " holds it"
		}
		return who + " holds it (" + h.Detail + ")"
	case campaign.HoldByRefusal, campaign.HoldByStatus:
		if s := messaging.Sentence(h.Reason); !strings.HasPrefix(s, "the service refused with a code") {
			return s + " (" + h.Reason + ")"
		}
	}
	if h.Detail == "" {
		return h.Reason
	}
	return h.Detail + " (" + h.Reason + ")"
}

// endingEvents are the events of the service that end a hold of a scope.
var endingEvents = map[campaign.HoldScope]string{
	campaign.HoldTemplate:   "the approval of the template",
	campaign.HoldAccount:    "an event that the account is active again",
	campaign.HoldCompany:    "an event that the company is active again",
	campaign.HoldConnection: "an event that the number is connected again",
}

// triedEnd says what ends a hold that is tried.
const triedEnd = "the first accepted one ends the hold"

// holdEnd says what ends a hold in force, and the command that ends it earlier.
func holdEnd(h campaign.Hold) string {
	command := "`" + liftCommand(h) + "`"
	switch {
	case h.Tried():
		return "remove its cause at the platform: from " + sentence.Instant(h.Until) + " on one queued row tries it, and stays queued if it " +
			"is refused; the next try is then up to an hour later, " + triedEnd + ", and " + command + " ends it earlier"
	case h.Source == campaign.HoldByBreaker && !h.Until.IsZero():
		return "a few requests test it from " + sentence.Instant(h.Until) + " on; " + command + " ends it earlier"
	case h.Reason == messaging.PlanUsedUp && !h.Until.IsZero():
		return "it is tried again at " + sentence.Instant(h.Until) +
			"; raise the allowance of the plan at the service, and " + command + " ends it then"
	case !h.Until.IsZero():
		return "it ends at " + sentence.Instant(h.Until) + "; " + command + " ends it earlier"
	case h.Manual && h.Source != campaign.HoldByOperator && slices.Contains(messaging.TokenCodes, h.Reason):
		return remedyOf(h.Reason) + " ends it, and so does a restart of campaignd; " + command + " ends it earlier"
	case h.Manual, h.Source == campaign.HoldByOperator:
		return "only an operator ends it: " + command
	}
	event := endingEvents[h.Scope]
	if event == "" || h.Source != campaign.HoldByEvent && messaging.EndOf(h.Reason) == messaging.EndedByOperator {
		return "only an operator ends it, when its cause is gone: " + command
	}
	return event + " ends it; " + command + " ends it earlier"
}

// remedyOf names the file of the Cloud API's account that another secret goes into.
func remedyOf(code string) string {
	if code == messaging.AppSecretRefused {
		return "another secret in app_secret_file of its account, or another token in token_file,"
	}
	return "another token in token_file of its account"
}

// liftCommand is the command that ends the hold.
func liftCommand(h campaign.Hold) string {
	return "campaignd holds lift " + string(h.Scope) + " " + quoted(h.ID)
}

// quoted quotes an argument for a shell if it needs it.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./+:@", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
