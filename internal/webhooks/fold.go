package webhooks

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// fold turns the events of one request into facts for the ledger and counts the events. It asks
// once what an event means, then appends the facts, with the events' own times: the ledger decides
// from when they count. platform says that the platform itself signed them.
func (i *Intake) fold(events []messaging.Event, received time.Time, platform bool) (facts campaign.Events, changes []change) {
	if len(events) > 1 {
		facts.Statuses = make([]campaign.StatusEvent, 0, len(events))
	}
	seen := ""
	var ignored []string
	for n := range events {
		e := &events[n]
		i.counters.kinds[e.Kind].Add(1)
		if e.Connection == "" && e.Number != "" {
			e.Connection = i.o.Connections(e.Number)
		}
		if !sane(e.Connection) || !sane(e.Account) {
			e.Connection, e.Account = "", ""
		}
		if !platform {
			if name := i.foreign(e); name != "" {
				ignored = append(ignored, name)
				continue
			}
		}
		i.accounts.learn(e.Account, e.Connection)
		if n == 0 || e.Connection != seen {
			seen = e.Connection
			i.counters.verified(seen, received)
			i.o.Heard(seen, received, false)
		}
		if e.Kind == messaging.KindMessage {
			wrote, _ := reception.EventTime(e.At, received)
			i.o.Heard(seen, wrote, true)
		}
		var m meaning
		i.read(&m, e)
		i.append(&facts, e, &m, received)
		changes = append(changes, m.changes...)
		if platform && e.Kind == messaging.KindStatus && e.Mark != "" {
			s := &facts.Statuses[len(facts.Statuses)-1]
			if s.Mark = i.mark(e.Mark); s.Mark != campaign.ForeignMark() { // another program's message has no bill here
				s.Price = campaign.PriceOf(e.Pricing)
			}
		}
	}
	if len(ignored) > 0 {
		i.ignored.add(i.o.Log, received, ignored)
	}
	return facts, changes
}

// mark returns the attempt of a mark. A mark that is not one of this ledger proves nothing, and is
// counted: another program may send over the same number.
func (i *Intake) mark(text string) campaign.Post {
	p, ok := i.o.Mark(text)
	if !ok {
		i.counters.foreign.Add(1)
		return campaign.ForeignMark()
	}
	return p
}

// append adds the facts of an event to the facts of its request.
func (i *Intake) append(facts *campaign.Events, e *messaging.Event, m *meaning, received time.Time) {
	if e.Kind == messaging.KindStatus {
		facts.Statuses = append(facts.Statuses, statusOf(e))
	}
	facts.Holds = append(facts.Holds, m.holds...)
	facts.Lifts = append(facts.Lifts, m.lifts...)
	if m.votes {
		hold, lift := i.breakers.see(e.Connection, e.Status == messaging.StatusDelivered, m.failure, e.At, received)
		if hold != nil {
			facts.Holds = append(facts.Holds, *hold)
		}
		if lift != nil {
			facts.Lifts = append(facts.Lifts, *lift)
		}
	}
	switch w := m.wish; {
	case w == nil:
	case w.Key == 0:
		facts.Wishes = append(facts.Wishes, *w)
	case w.Resume:
		facts.Lifted = append(facts.Lifted, w.Suppression)
	default:
		facts.Suppressions = append(facts.Suppressions, w.Suppression)
	}
	if m.move != nil {
		facts.Moved = append(facts.Moved, *m.move)
	}
	if m.opensWindow {
		facts.Inbound = append(facts.Inbound, campaign.Inbound{
			Key: recipients.Key(e.Inbound.From), Connection: e.Connection, At: e.At})
	}
	if m.replies {
		if r := (campaign.Reply{Key: recipients.Key(e.Inbound.From), Answers: e.Inbound.ContextID, At: e.At,
			Connection: e.Connection}); r.Key != 0 || r.Answers != "" {
			facts.Replies = append(facts.Replies, r)
		}
	}
	for _, c := range e.Contacts {
		if p, ok := pairOf(e, c); ok && !i.pairs.known(p, received) {
			facts.Pairs = append(facts.Pairs, p)
		}
	}
}

// sane reports whether id can name a connection or an account. The ids of the service have
// about 30 characters. Other texts are kept out of metrics, logs and memory.
func sane(id string) bool {
	return len(id) <= 200 && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// statusOf returns the status of the message of an event.
func statusOf(e *messaging.Event) campaign.StatusEvent {
	status := campaign.StatusEvent{
		MessageID: e.MessageID, Connection: e.Connection, Recipient: recipients.Key(e.Recipient),
		Status: campaign.Status(e.Status), At: e.At,
	}
	if e.Status == messaging.StatusFailed && e.Code != 0 {
		status.Code = strconv.Itoa(e.Code)
	}
	return status
}

// pairOf returns which number a person of an event has; false if the event does not say it. Without
// a number the ledger finds it by our message that the event is about.
func pairOf(e *messaging.Event, c messaging.Contact) (campaign.Pair, bool) {
	p := campaign.Pair{UserID: c.UserID, Key: recipients.Key(c.Number), To: "+" + c.Number, Connection: e.Connection}
	if p.Key != 0 {
		return p, true
	}
	p.To = ""
	switch {
	case c.UserID != e.UserID:
	case e.Kind == messaging.KindStatus:
		p.Message = e.MessageID
	case e.Kind == messaging.KindMessage:
		p.Message = e.Inbound.ContextID
	}
	return p, p.Message != ""
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
	into.Replies = append(into.Replies, more.Replies...)
}
