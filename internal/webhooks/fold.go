package webhooks

import (
	"slices"
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
		i.foldContacts(&facts, e, received)
		switch e.Kind {
		case messaging.KindStatus:
			i.foldStatus(&facts, e, own, received)
		case messaging.KindMessage:
			i.foldMessage(&facts, e, own, received)
		case messaging.KindPreference:
			i.foldPreference(&facts, e, own, received)
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
			w := campaign.Wish{Answers: e.MessageID}
			w.Proof.Message = e.MessageID
			number := e.Recipient
			if e.UserID != "" && !slices.ContainsFunc(e.Contacts, func(c messaging.Contact) bool { return c.Number != "" }) {
				number = "" // the digits are those of the message id: our own row is surer
			}
			i.suppress(facts, e, w, number, scope, "failed:"+status.Code, received)
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
	w := campaign.Wish{Answers: e.Inbound.ContextID}
	w.Proof = campaign.Proof{Message: e.MessageID, Answers: e.Inbound.ContextID, Text: e.Inbound.Text}
	if !i.o.OptOut.Match(w.Proof.Text) {
		w.Proof.Text = e.Inbound.ButtonPayload
	}
	i.suppress(facts, e, w, e.Inbound.From, campaign.ScopeMarketing, source, received)
}

// foldMove adds the move of a customer to another number (docs/service.md#opt-outs). An event that
// lacks one of the two numbers is only counted.
func (i *Intake) foldMove(facts *campaign.Events, e *messaging.Event) {
	from, to := e.Inbound.From, e.Inbound.MovedTo
	m := campaign.Move{From: recipients.Key(from), To: recipients.Key(to), FromPhone: "+" + from, ToPhone: "+" + to, At: e.At}
	if m.From == 0 {
		m.FromUser, m.FromPhone = e.UserID, ""
	}
	if m.From == 0 && m.FromUser == "" || m.To == 0 {
		i.counters.nobody.Add(1)
		return
	}
	facts.Moved = append(facts.Moved, m)
}

// foldPreference adds what a customer wants. A resume counts from its own time, which the ledger
// compares with its first receipt; one without a time lifts nothing.
func (i *Intake) foldPreference(facts *campaign.Events, e *messaging.Event, own, received time.Time) {
	w := campaign.Wish{Resume: !e.Preference.Stop}
	if w.Resume {
		if own.IsZero() {
			return
		}
		e.At = own
	}
	i.suppress(facts, e, w, e.Preference.From, campaign.ScopeMarketing, "user_preferences", received)
}

// suppress adds the suppression of a phone number in digits, or the opt-in that lifts it
// (docs/service.md#opt-outs). With Options.PerCompany it is for the company of the event's
// connection. Without a number it is a wish, whose person the ledger finds.
func (i *Intake) suppress(
	facts *campaign.Events, e *messaging.Event, w campaign.Wish, digits string, scope campaign.Scope, source string, received time.Time,
) {
	proof := w.Proof
	proof.Connection = e.Connection
	key := recipients.Key(digits)
	if key == 0 {
		proof.User = e.UserID
	}
	s := campaign.NewSuppression(key, "+"+digits, scope, source, e.At).Proven(proof)
	if i.o.PerCompany {
		s = s.OfCompany(i.o.Origin(e.Connection).Company)
	}
	if w.Resume || key == 0 {
		s.ReceivedAt = received
	}
	switch {
	case key == 0:
		s.To = ""
		w.UserID, w.Suppression = e.UserID, s
		facts.Wishes = append(facts.Wishes, w)
	case w.Resume:
		facts.Lifted = append(facts.Lifted, s)
	default:
		facts.Suppressions = append(facts.Suppressions, s)
	}
}

// foldContacts adds which numbers the persons of the event have, unless the ledger was told today.
func (i *Intake) foldContacts(facts *campaign.Events, e *messaging.Event, received time.Time) {
	for _, c := range e.Contacts {
		p := campaign.Pair{UserID: c.UserID, Key: recipients.Key(c.Number), To: "+" + c.Number, At: received}
		switch {
		case p.Key != 0:
		case c.UserID != e.UserID:
			continue
		case e.Kind == messaging.KindStatus:
			p.To, p.Message = "", e.MessageID
		case e.Kind == messaging.KindMessage && e.Inbound.ContextID != "":
			p.To, p.Message = "", e.Inbound.ContextID
		default:
			continue
		}
		if !i.pairs.known(p) {
			facts.Pairs = append(facts.Pairs, p)
		}
	}
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
	into.Pairs = append(into.Pairs, more.Pairs...)
	into.Wishes = append(into.Wishes, more.Wishes...)
}
