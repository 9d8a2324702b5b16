package campaign

import "time"

// Pair says which number a person has whom events name by a user id of the platform
// (docs/service.md#user-ids).
type Pair struct {
	UserID string
	Key    int64  // recipients.Key; 0: the key of the recipient of Message
	To     string // E.164
	// Message is the id of a message of ours to this person; "": none.
	Message string
	// Connection is the connection of the event; "": it names none.
	Connection string
	At         time.Time // when the event came, by the ledger's clock; zero: now
}

// Wish is an opt-out, an opt-in or a failed message of a person whose number the event does not
// name. The ledger finds the number by our message that it is about, or by the person's user id,
// and keeps the wish until then.
type Wish struct {
	UserID  string // "": the event names nobody
	Answers string // the id of our message that it is about; "": none
	Resume  bool   // an opt-in: it lifts the suppression
	// Suppression has no Key and no To.
	Suppression
}

// Unattributed are the wishes whose persons are not known yet.
type Unattributed struct {
	N      int64
	Since  time.Time // when the oldest of them came; zero: there is none
	UserID string    // of the oldest; "": its event names nobody
}
