package webhooks

import (
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// fold turns the events of one request into facts for the ledger and counts the events.
func (i *Intake) fold(events []messaging.Event, received time.Time) campaign.Events {
	var facts campaign.Events
	if len(events) > 1 {
		facts.Statuses = make([]campaign.StatusEvent, 0, len(events))
	}
	seen := ""
	for n := range events {
		e := &events[n]
		i.counters.kinds[e.Kind].Add(1)
		own := e.At
		at, clamped := campaign.EventTime(own, received)
		if clamped {
			i.counters.clamped.Add(1)
		}
		e.At = at
		if e.Connection == "" && e.Number != "" {
			e.Connection = i.o.Connections(e.Number)
		}
		i.accounts.learn(e.Account, e.Connection)
		if n == 0 || e.Connection != seen {
			seen = e.Connection
			i.counters.verified(seen, received)
		}
		switch e.Kind {
		case messaging.KindStatus:
			i.foldStatus(&facts, e, received)
		case messaging.KindMessage:
			i.foldMessage(&facts, e)
		case messaging.KindPreference:
			if s, ok := i.suppression(e.Preference.From, campaign.ScopeMarketing, "user_preferences", e.At); !ok {
				continue
			} else if e.Preference.Stop {
				facts.Suppressions = append(facts.Suppressions, s)
			} else if !own.IsZero() { // a wish without a time ends no stop
				facts.Lifted = append(facts.Lifted, s)
			}
		case messaging.KindTemplate:
			i.foldTemplate(&facts, e, own)
		case messaging.KindNumber, messaging.KindAccount:
			i.foldChange(&facts, e, own)
		}
	}
	return facts
}

func (i *Intake) foldStatus(facts *campaign.Events, e *messaging.Event, received time.Time) {
	status := campaign.StatusEvent{
		MessageID: e.MessageID, Connection: e.Connection, Recipient: recipients.Key(e.Recipient),
		Status: campaign.Status(e.Status), At: e.At, ReceivedAt: received,
	}
	if e.Status == messaging.StatusFailed {
		if e.Code != 0 {
			status.Code = strconv.Itoa(e.Code)
		}
		if scope := campaign.ScopeOf(messaging.FailedFeed(e.Code)); scope != "" {
			if s, ok := i.suppression(e.Recipient, scope, "failed:"+status.Code, e.At); ok {
				facts.Suppressions = append(facts.Suppressions, s)
			}
		}
	}
	if e.Status == messaging.StatusFailed || e.Status == messaging.StatusDelivered {
		if hold, lift := i.breakers.see(e.Connection, e.Code, e.At, received); hold != nil {
			facts.Holds = append(facts.Holds, *hold)
		} else if lift != nil {
			facts.Lifts = append(facts.Lifts, *lift)
		}
	}
	facts.Statuses = append(facts.Statuses, status)
}

func (i *Intake) foldMessage(facts *campaign.Events, e *messaging.Event) {
	if !i.o.OptOut.MatchMessage(e.Inbound) {
		return
	}
	source := "stop"
	if e.Inbound.ButtonPayload != "" || e.Inbound.Type == "button" || e.Inbound.Type == "interactive" {
		source = "button"
	}
	if s, ok := i.suppression(e.Inbound.From, campaign.ScopeMarketing, source, e.At); ok {
		facts.Suppressions = append(facts.Suppressions, s)
	}
}

// suppression returns the suppression of a number in digits (docs/service.md#opt-outs). A customer
// who is known only by a platform user id, without a phone number, cannot be suppressed; the case
// is counted.
func (i *Intake) suppression(digits string, scope campaign.Scope, source string, at time.Time) (campaign.Suppression, bool) {
	key := recipients.Key(digits)
	if key == 0 {
		i.counters.nobody.Add(1)
		return campaign.Suppression{}, false
	}
	return campaign.NewSuppression(key, "+"+digits, scope, source, at), true
}

// merge adds the facts of a later request.
func merge(into *campaign.Events, more campaign.Events) {
	into.Statuses = append(into.Statuses, more.Statuses...)
	into.Suppressions = append(into.Suppressions, more.Suppressions...)
	into.Lifted = append(into.Lifted, more.Lifted...)
	into.Holds = append(into.Holds, more.Holds...)
	into.Lifts = append(into.Lifts, more.Lifts...)
}

// settle keeps only the later wish of a number if one batch both stops and resumes marketing to it,
// because Events has no order between its lists. If both wishes have the same time, the stop wins.
func settle(e *campaign.Events) {
	if len(e.Suppressions) == 0 || len(e.Lifted) == 0 {
		return
	}
	stopped := map[int64]time.Time{}
	for _, s := range e.Suppressions {
		if s.Scope == campaign.ScopeMarketing && !s.At.Before(stopped[s.Key]) {
			stopped[s.Key] = s.At
		}
	}
	resumed := map[int64]time.Time{}
	lifted := e.Lifted[:0:0]
	for _, s := range e.Lifted {
		if at, both := stopped[s.Key]; !both || s.At.After(at) {
			lifted = append(lifted, s)
			if s.At.After(resumed[s.Key]) {
				resumed[s.Key] = s.At
			}
		}
	}
	kept := e.Suppressions[:0:0]
	for _, s := range e.Suppressions {
		if at, both := resumed[s.Key]; !both || s.Scope != campaign.ScopeMarketing || !s.At.Before(at) {
			kept = append(kept, s)
		}
	}
	e.Suppressions, e.Lifted = kept, lifted
}
