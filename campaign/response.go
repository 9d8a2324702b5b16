package campaign

import "time"

// Reply is a message of a recipient that is no opt-out.
type Reply struct {
	Key     int64     // recipients.Key; 0: only Answers tells who wrote
	Answers string    // id of our message that it answers; "": it names none
	At      time.Time // its own time
}

// ResponseFor is how long after a message a reply or an opt-out that answers no message belongs to
// it (docs/protocol.md#responses).
const ResponseFor = 7 * 24 * time.Hour

// Responses counts the recipients of a run who did something after its message.
type Responses struct {
	Replied  int64 `json:"replied"` // wrote something else than an opt-out
	OptedOut int64 `json:"opted_out"`
}
