package webhooks

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/mutant"
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
		if mutant.On("event_time_ignored") {
			own = received
		}
		e.At, _ = campaign.EventTime(own, received)
		switch e.Kind {
		case messaging.KindTemplate, messaging.KindNumber, messaging.KindAccount:
			// A hold that began after its receipt could be lifted by no event that comes in the meantime.
			if e.At.After(received) {
				e.At = received
			}
		}
		if e.Connection == "" && e.Number != "" {
			e.Connection = i.o.Connections(e.Number)
		}
		if !sane(e.Connection) || !sane(e.Account) {
			e.Connection, e.Account = "", ""
		}
		i.accounts.learn(e.Account, e.Connection)
		if n == 0 || e.Connection != seen {
			seen = e.Connection
			i.counters.verified(seen, received)
		}
		switch e.Kind {
		case messaging.KindStatus:
			i.foldStatus(&facts, e, own, received)
		case messaging.KindMessage:
			i.foldMessage(&facts, e, own, received)
		case messaging.KindPreference:
			if s, ok := i.suppression(e, e.Preference.From, campaign.ScopeMarketing, "user_preferences", campaign.Proof{}); !ok {
				continue
			} else if e.Preference.Stop {
				facts.Suppressions = append(facts.Suppressions, s)
			} else if !own.IsZero() { // a wish without a time lifts no suppression
				s.At, s.Proof.At, s.ReceivedAt = own, own, received
				facts.Lifted = append(facts.Lifted, s)
			}
		case messaging.KindTemplate:
			i.foldTemplate(&facts, e, own, received)
		case messaging.KindNumber, messaging.KindAccount:
			i.foldChange(&facts, e, own, received)
		}
	}
	return facts
}

// sane reports whether id can be that of a connection or an account. The ids of the service have
// about 30 characters. Other texts are kept out of metrics, logs and memory.
func sane(id string) bool {
	return len(id) <= 200 && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

func (i *Intake) foldStatus(facts *campaign.Events, e *messaging.Event, own, received time.Time) {
	status := campaign.StatusEvent{
		MessageID: e.MessageID, Connection: e.Connection, Recipient: recipients.Key(e.Recipient),
		Status: campaign.Status(e.Status), At: e.At, ReceivedAt: received,
	}
	if e.Status == messaging.StatusFailed {
		if e.Code != 0 {
			status.Code = strconv.Itoa(e.Code)
		}
		if scope := campaign.ScopeOf(messaging.Failed(e.Code).Feed); scope != "" {
			if s, ok := i.suppression(e, e.Recipient, scope, "failed:"+status.Code, campaign.Proof{Message: e.MessageID}); ok {
				facts.Suppressions = append(facts.Suppressions, s)
			}
		}
	}
	if delivered := e.Status == messaging.StatusDelivered; delivered || e.Status == messaging.StatusFailed {
		if hold, lift := i.breakers.see(e.Connection, delivered, e.Code, own, received); hold != nil {
			facts.Holds = append(facts.Holds, *hold)
		} else if lift != nil {
			facts.Lifts = append(facts.Lifts, *lift)
		}
	}
	facts.Statuses = append(facts.Statuses, status)
}

func (i *Intake) foldMessage(facts *campaign.Events, e *messaging.Event, own, received time.Time) {
	if key := recipients.Key(e.Inbound.From); key != 0 && e.Connection != "" && i.o.Tiered(e.Connection) {
		if _, counts := campaign.LiftTime(own, received); counts {
			facts.Inbound = append(facts.Inbound, campaign.Inbound{Key: key, Connection: e.Connection, At: own, ReceivedAt: received})
		}
	}
	if e.Inbound.MovedTo != "" {
		i.foldMove(facts, e)
		return
	}
	if !i.o.OptOut.MatchMessage(e.Inbound) {
		return
	}
	source := "stop"
	if e.Inbound.ButtonPayload != "" || e.Inbound.Type == "button" || e.Inbound.Type == "interactive" {
		source = "button"
	}
	proof := campaign.Proof{Message: e.MessageID, Answers: e.Inbound.ContextID, Text: e.Inbound.Text}
	if !i.o.OptOut.Match(proof.Text) {
		proof.Text = e.Inbound.ButtonPayload
	}
	if s, ok := i.suppression(e, e.Inbound.From, campaign.ScopeMarketing, source, proof); ok {
		facts.Suppressions = append(facts.Suppressions, s)
	}
}

// foldMove adds the move of a customer to another number (docs/service.md#opt-outs). An event that
// lacks one of the two numbers is only counted.
func (i *Intake) foldMove(facts *campaign.Events, e *messaging.Event) {
	from, to := e.Inbound.From, e.Inbound.MovedTo
	m := campaign.Move{From: recipients.Key(from), To: recipients.Key(to), FromPhone: "+" + from, ToPhone: "+" + to, At: e.At}
	if m.From == 0 || m.To == 0 {
		i.counters.nobody.Add(1)
		return
	}
	facts.Moved = append(facts.Moved, m)
}

// suppression returns the suppression of a phone number in digits (docs/service.md#opt-outs). With
// Options.PerCompany it is for the company of the event's connection. A customer who is known only
// by a user id of the platform cannot be suppressed: the case is counted, and the result is false.
func (i *Intake) suppression(e *messaging.Event, digits string, scope campaign.Scope, source string, proof campaign.Proof,
) (campaign.Suppression, bool) {
	key := recipients.Key(digits)
	if key == 0 {
		i.counters.nobody.Add(1)
		return campaign.Suppression{}, false
	}
	proof.Connection = e.Connection
	s := campaign.NewSuppression(key, "+"+digits, scope, source, e.At).Proven(proof)
	if i.o.PerCompany {
		s = s.OfCompany(i.o.Origin(e.Connection).Company)
	}
	return s, true
}

// merge adds the facts of a later request.
func merge(into *campaign.Events, more campaign.Events) {
	into.Statuses = append(into.Statuses, more.Statuses...)
	into.Suppressions = append(into.Suppressions, more.Suppressions...)
	into.Lifted = append(into.Lifted, more.Lifted...)
	into.Holds = append(into.Holds, more.Holds...)
	into.Lifts = append(into.Lifts, more.Lifts...)
	into.Moved = append(into.Moved, more.Moved...)
	into.Inbound = append(into.Inbound, more.Inbound...)
}

// keepLater drops a resume unless it is later than every stop of its number in the same batch,
// because Events has no order between its lists. If both wishes have the same time, the stop stays.
// It drops no stop: only the ledger knows whether a resume is a repetition.
func keepLater(e *campaign.Events) {
	if len(e.Suppressions) == 0 || len(e.Lifted) == 0 {
		return
	}
	type wish struct {
		key     int64
		company string
	}
	of := func(s campaign.Suppression) wish { return wish{s.Key, s.Company} }
	stopped := map[wish]time.Time{}
	for _, s := range e.Suppressions {
		if s.Scope == campaign.ScopeMarketing && !s.At.Before(stopped[of(s)]) {
			stopped[of(s)] = s.At
		}
	}
	lifted := e.Lifted[:0:0]
	for _, s := range e.Lifted {
		stop, both := stopped[of(s)]
		if at, _ := campaign.LiftTime(s.At, s.ReceivedAt); !both || at.After(stop) {
			lifted = append(lifted, s)
		}
	}
	e.Lifted = lifted
}
