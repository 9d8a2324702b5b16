package campaign

import "time"

// StatusEvent is one status of one message, from a verified webhook.
type StatusEvent struct {
	MessageID  string
	Connection string    // "" when the event names none
	Recipient  int64     // recipients.Key of the event's recipient, or of the digits in the id; 0: unknown
	Status     Status    // Sent, Delivered, Read or Failed
	Code       string    // of Failed
	At         time.Time // the event's own time; zero: it has none
	ReceivedAt time.Time // by the ledger's clock; zero: now
	// Mark is the attempt that the event's mark proves, ForeignMark for a mark that is not of this
	// ledger, and zero without a mark.
	Mark Post
	// Price is how the platform bills the message, if the status tells it.
	Price Price
}

// Events is one batch of webhook events. It is applied in one transaction; PostgreSQL stores
// orphans in a second one (docs/protocol.md#orphan-events). Times are the events' own; the ledger
// compares them with its own clock, never with the clock of the process (docs/protocol.md#lifts).
type Events struct {
	Statuses     []StatusEvent
	Suppressions []Suppression // from STOP messages, buttons and user_preferences
	Lifted       []Suppression // from user_preferences: resume; only of scope marketing
	Holds        []Hold        // from account, number and template events
	Lifts        []Lift        // from events that end holds
	Moved        []Move        // recipients who changed their number
	Inbound      []Inbound     // messages of recipients, over connections with a tier
	Pairs        []Pair        // persons whom events name by a user id
	Wishes       []Wish        // opt-outs and opt-ins of persons without a number
	Replies      []Reply       // messages of recipients that are no opt-outs
}

// Len is the number of facts in the batch.
func (e *Events) Len() int {
	return len(e.Statuses) + len(e.Suppressions) + len(e.Lifted) + len(e.Holds) + len(e.Lifts) + len(e.Moved) + len(e.Inbound) +
		len(e.Pairs) + len(e.Wishes) + len(e.Replies)
}

// Inbound is a message of a recipient. It opens a service window of 24 hours, in which messages to
// the recipient over the connection take no place of a tier.
type Inbound struct {
	Key        int64 // recipients.Key
	Connection string
	At         time.Time // its own time
	ReceivedAt time.Time // by the ledger's clock; zero: now. The window begins at LiftTime
}

// Reply is a message of a recipient that is no opt-out.
type Reply struct {
	Key     int64     // recipients.Key; 0: only Answers tells who wrote
	Answers string    // id of our message that it answers; "": it names none
	At      time.Time // its own time; zero: it has none
	// Connection is the connection of the event; "": it names none.
	Connection string
}

// ResponseFor is how long after a message a reply or an opt-out that answers no message belongs to
// it (docs/protocol.md#responses).
const ResponseFor = 7 * 24 * time.Hour

// Responses counts the recipients of a run who did something after its message.
type Responses struct {
	Replied  int64 `json:"replied"` // wrote something else than an opt-out
	OptedOut int64 `json:"opted_out"`
}
