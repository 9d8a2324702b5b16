package campaign

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// HoldState is a hold as commands show it. Scripts rely on its JSON
// (docs/operations.md#what-scripts-may-rely-on).
type HoldState struct {
	Scope  HoldScope  `json:"scope"`
	ID     string     `json:"id"`
	Reason string     `json:"reason"`
	Detail string     `json:"detail"`
	Source HoldSource `json:"source"`
	Who    string     `json:"who,omitempty"` // the operator who began it
	Since  time.Time  `json:"since"`
	Until  *time.Time `json:"until"` // nil: it does not end by itself
	// Ended is when an event or an operator lifted it, or when its time was over.
	Ended     *time.Time `json:"ended,omitempty"`
	LiftedWho string     `json:"lifted_who,omitempty"` // the operator who lifted it
	// Sentence says what is stopped, since when, why, and what ends it.
	Sentence string `json:"sentence"`
}

// State returns the hold as commands show it at now.
func (h Hold) State(now time.Time) HoldState {
	s := HoldState{Scope: h.Scope, ID: h.ID, Reason: h.Reason, Detail: h.Detail, Source: h.Source, Who: h.Who, LiftedWho: h.LiftedWho,
		Since:    h.Since.UTC(),
		Sentence: h.Sentence(now)}
	if until := h.Until.UTC(); !h.Until.IsZero() {
		s.Until = &until
	}
	if ended := h.ended().UTC(); !h.InForce(now) && !h.Probing(now) && !ended.IsZero() {
		s.Ended = &ended
	}
	return s
}

// HoldStates returns holds as commands show them; never nil.
func HoldStates(holds []Hold, now time.Time) []HoldState {
	out := make([]HoldState, len(holds))
	for i, h := range holds {
		out[i] = h.State(now)
	}
	return out
}

// Subject is the scope and the id, as notifications and the log of actions have them.
func (h Hold) Subject() string { return string(h.Scope) + " " + h.ID }

// ended is when a hold that is over ended.
func (h Hold) ended() time.Time {
	if !h.Lifted.IsZero() {
		return h.Lifted
	}
	return h.Until
}

// Sentence says in one sentence what the hold stops, since when, why, what ends it, and the command
// that ends it earlier.
func (h Hold) Sentence(now time.Time) string {
	since, why := sentence.Instant(h.Since), h.why()
	switch {
	case h.Probing(now):
		return fmt.Sprintf("%s is tried with at most 3 requests at a time, since %s: %s; the first proven answer ends it, or `%s`",
			h.subject(), sentence.Instant(h.Until), why, h.liftCommand())
	case !h.InForce(now):
		by := "its time was over"
		if !h.Lifted.IsZero() {
			by = h.lifted()
		}
		return fmt.Sprintf("%s was held from %s to %s: %s; %s", h.subject(), since, sentence.Instant(h.ended()), why, by)
	}
	return fmt.Sprintf("%s is held since %s: %s; %s", h.subject(), since, why, h.ends())
}

// endedBy says what lifted a hold. The proven answer is that to a test request, or a delivery
// (docs/limits.md#accepted-and-too-fast).
var endedBy = map[HoldSource]string{
	HoldByEvent:    "an event of the service ended it",
	HoldByBreaker:  "a proven answer ended it",
	HoldByOperator: "an operator lifted it",
}

// lifted says what lifted the hold.
func (h Hold) lifted() string {
	if h.LiftedBy == HoldByOperator && h.LiftedWho != "" {
		return h.LiftedWho + " lifted it"
	}
	return endedBy[h.LiftedBy]
}

// subject names what is stopped, in the singular.
func (h Hold) subject() string {
	all := h.ID == HoldAny
	switch h.Scope {
	case HoldKey:
		if all {
			return "everything that is sent with any API key"
		}
		return "everything that is sent with the API key " + h.ID
	case HoldCompany:
		if all {
			return "everything that is sent for any company"
		}
		return "everything that is sent for company " + h.ID
	case HoldAccount:
		if all {
			return "everything that is sent from any business account"
		}
		return "everything that is sent from business account " + h.ID
	case HoldTemplate:
		return h.template()
	case HoldPortfolio:
		if all {
			return "everything that is sent from any portfolio"
		}
		return "everything that is sent from portfolio " + h.ID
	case HoldConnection:
		if all {
			return "every connection"
		}
		return "connection " + h.ID
	}
	if all {
		return "every run"
	}
	return "run " + h.ID
}

func (h Hold) template() string {
	if h.ID == HoldAny {
		return "every template"
	}
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

// why says why nothing of the scope is sent.
func (h Hold) why() string {
	switch h.Source {
	case HoldByOperator:
		who := cmp.Or(h.Who, "an operator")
		if h.Detail == "" {
			return who + " holds it"
		}
		return who + " holds it (" + h.Detail + ")"
	case HoldByRefusal, HoldByStatus:
		if s := messaging.Sentence(h.Reason); !strings.HasPrefix(s, "the service refused with a code") {
			return s + " (" + h.Reason + ")"
		}
	}
	if h.Detail == "" {
		return h.Reason
	}
	return h.Detail + " (" + h.Reason + ")"
}

// ends says what ends a hold in force, and the command that ends it earlier.
func (h Hold) ends() string {
	command := "`" + h.liftCommand() + "`"
	switch {
	case h.Source == HoldByBreaker && !h.Until.IsZero():
		return "a few requests test it from " + sentence.Instant(h.Until) + " on; " + command + " ends it earlier"
	case h.Reason == messaging.PlanUsedUp && !h.Until.IsZero():
		return "it is tried again at " + sentence.Instant(h.Until) +
			"; raise the allowance of the plan at the service, and " + command + " ends it then"
	case !h.Until.IsZero():
		return "it ends at " + sentence.Instant(h.Until) + "; " + command + " ends it earlier"
	case h.Manual, h.Source == HoldByOperator:
		return "only an operator ends it: " + command
	}
	event := ""
	switch h.Scope {
	case HoldTemplate:
		event = "the approval of the template"
	case HoldAccount:
		event = "an event that the account is active again"
	case HoldCompany:
		event = "an event that the company is active again"
	case HoldConnection:
		event = "an event that the number is connected again"
	}
	if event == "" || h.Source != HoldByEvent && messaging.EndOf(h.Reason) == messaging.EndedByOperator {
		return "only an operator ends it, when its cause is gone: " + command
	}
	return event + " ends it; " + command + " ends it earlier"
}

// liftCommand is the command that ends the hold.
func (h Hold) liftCommand() string {
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
