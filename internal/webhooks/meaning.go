package webhooks

import (
	"slices"
	"strconv"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// meaning is what an event says beyond the status of its message: whom it suppresses, what it holds
// or lifts, and whether it counts for the breaker of its connection. A part that is zero says
// nothing.
type meaning struct {
	// wish is an opt-out, an opt-in, or a number that cannot be reached. Its Key is 0 if the ledger
	// has to find the person.
	wish *campaign.Wish
	// move is the change of a customer to another number.
	move *campaign.Move
	// opensWindow means that a customer wrote over a connection with a tier.
	opensWindow bool
	// replies means that a customer wrote something else than an opt-out, or pressed another button.
	replies bool

	holds   []campaign.Hold
	lifts   []campaign.Lift
	changes []change

	// votes means that the breaker of the connection counts the status of the message, and failure
	// says why the message failed.
	votes   bool
	failure messaging.Failure
}

// read asks what an event means.
func (i *Intake) read(m *meaning, e *messaging.Event) {
	switch e.Kind {
	case messaging.KindStatus:
		i.readStatus(m, e)
	case messaging.KindMessage:
		i.readMessage(m, e)
	case messaging.KindPreference:
		i.readPreference(m, e)
	case messaging.KindTemplate:
		i.readTemplate(m, e)
	case messaging.KindNumber, messaging.KindAccount:
		i.readChange(m, e)
	}
}

func (i *Intake) readStatus(m *meaning, e *messaging.Event) {
	m.votes = e.Status == messaging.StatusDelivered || e.Status == messaging.StatusFailed
	if e.Status == messaging.StatusFailed {
		m.failure = messaging.Failed(e.Code)
	}
	if scope := campaign.ScopeOf(m.failure.Feed); scope != "" {
		number := e.Recipient
		if e.UserID != "" && !slices.ContainsFunc(e.Contacts, func(c messaging.Contact) bool { return c.Number != "" }) {
			number = "" // the digits come from the message id; the row of our message is surer
		}
		w := campaign.Wish{Answers: e.MessageID}
		w.Proof.Message = e.MessageID
		m.wish = i.wish(e, w, number, scope, "failed:"+strconv.Itoa(e.Code))
	}
}

// readMessage reads the message of a customer: an opt-out, or the change to another number
// (docs/service.md#opt-outs). A change that lacks one of the two numbers is only counted.
func (i *Intake) readMessage(m *meaning, e *messaging.Event) {
	in := e.Inbound
	m.opensWindow = !e.At.IsZero() && recipients.Key(in.From) != 0 && e.Connection != "" && i.o.Tiered(e.Connection)
	switch {
	case in.MovedTo != "":
		move := campaign.Move{From: recipients.Key(in.From), To: recipients.Key(in.MovedTo),
			FromPhone: "+" + in.From, ToPhone: "+" + in.MovedTo, At: e.At}
		if move.From == 0 {
			move.FromUser, move.FromPhone = e.UserID, ""
		}
		if move.To == 0 || move.From == 0 && move.FromUser == "" {
			i.counters.nobody.Add(1)
		} else {
			m.move = &move
		}
	case i.o.OptOut.MatchMessage(in):
		source := "stop"
		if in.ButtonPayload != "" || in.Type == "button" || in.Type == "interactive" {
			source = "button"
		}
		w := campaign.Wish{Answers: in.ContextID}
		w.Proof = campaign.Proof{Message: e.MessageID, Answers: in.ContextID, Text: in.Text}
		if !i.o.OptOut.Match(in.Text) {
			w.Proof.Text = in.ButtonPayload
		}
		m.wish = i.wish(e, w, in.From, campaign.ScopeMarketing, source)
	case in.Type != "system":
		m.replies = true
	}
}

// readPreference reads what a customer wants. A resume counts from its own time, which the ledger
// compares with its first receipt; one without a time lifts nothing.
func (i *Intake) readPreference(m *meaning, e *messaging.Event) {
	w := campaign.Wish{Resume: !e.Preference.Stop}
	if !w.Resume || !e.At.IsZero() {
		m.wish = i.wish(e, w, e.Preference.From, campaign.ScopeMarketing, "user_preferences")
	}
}

// wish completes a wish of the person with this number in digits, or with the event's user id
// (docs/service.md#opt-outs). With Options.PerCompany it is for the company of the event's
// connection.
func (i *Intake) wish(
	e *messaging.Event, w campaign.Wish, digits string, scope campaign.Scope, source string,
) *campaign.Wish {
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
	if key == 0 {
		s.To = ""
	}
	w.UserID, w.Suppression = e.UserID, s
	return &w
}
