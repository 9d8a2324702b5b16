package ledger

import (
	"time"

	"campaignd/campaign"
)

const (
	// ReplyCap bounds the replies whose message is still to be found: the oldest go first.
	ReplyCap = 100_000
	// responseSkew is how much earlier than the answer to our request a reply may seem to be: its own
	// time is in whole seconds and of another clock.
	responseSkew = time.Minute
)

// Reply is a stored reply or opt-out.
type Reply struct {
	ID, Key, Answers int64 // Answers is the hash of the id of our message; 0: it names none
	At               int64 // Unix milliseconds
	OptOut           bool

	RID int64 // the delivery that it follows; 0: none
}

// ScanReply reads id, key, mh, at and opt_out.
func ScanReply(scan func(...any) error) (r Reply, err error) {
	var out int64
	err = scan(&r.ID, &r.Key, &r.Answers, &r.At, &out)
	r.OptOut = out == 1
	return r, err
}

// Span is from when to when the message was accepted that a reply without a message to answer
// follows, in Unix milliseconds.
func (r *Reply) Span() (from, to int64) {
	return r.At - campaign.ResponseFor.Milliseconds(), r.At + responseSkew.Milliseconds()
}

// Times are the replied_at and the opted_out_at of the reply alone.
func (r *Reply) Times() (replied, optedOut int64) {
	if r.OptOut {
		return 0, r.At
	}
	return r.At, 0
}

// Replies are the replies and opt-outs of events, to be stored. An opt-out is a message, a button
// or a preference of the person: a refusal of the platform tells of an earlier one.
func Replies(e *campaign.Events, hash func(id string) int64) (all []Reply) {
	mh := func(id string) int64 {
		if id == "" {
			return 0
		}
		return hash(id)
	}
	for _, r := range e.Replies {
		all = append(all, Reply{Key: r.Key, Answers: mh(r.Answers), At: Millis(OrNow(r.At))})
	}
	for i := range e.Suppressions {
		s := &e.Suppressions[i]
		switch s.Source {
		case "stop", "button", "user_preferences":
			all = append(all, Reply{Key: s.Key, Answers: mh(s.Proof.Answers), At: Millis(OrNow(s.At)), OptOut: true})
		}
	}
	return all
}
