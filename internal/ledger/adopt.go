package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Adoption finds the delivery behind a webhook whose message id nobody knows: an
// answer was lost, and the event is the only proof that the message was accepted
// (reliability.md 1.8).

// adoptionSlack is the request's time-out and a minute for clocks: an event later
// than this after the doubt began cannot be the send that the doubt is about.
const adoptionSlack = 10*time.Second + 60*time.Second

// adoptionEarly is how much the service's clock may be behind ours.
const adoptionEarly = 2 * time.Second

// orphan is a message that only webhooks know: all its waiting events together.
type orphan struct {
	messageID  string
	mh         int64
	key        int64  // of the recipient
	connection string // "" when no event named one
	first      int64  // millis of its earliest event
}

// suspect is a delivery that an orphan may be about.
type suspect struct {
	rid        int64
	connection string // "" when its segment was never bound
	intentAt   int64  // millis
	since      int64  // millis; when the doubt began
	open       bool   // still in flight: no result yet, so not adoptable, but perhaps the sender
}

// fits says whether the orphan may be the message of s. Its earliest event decides: a
// message whose first status is older than the intent was sent by somebody else.
func (s suspect) fits(o orphan) bool {
	if s.connection != "" && o.connection != "" && s.connection != o.connection {
		return false
	}
	if o.first < s.intentAt-adoptionEarly.Milliseconds() {
		return false
	}
	return s.open || o.first <= s.since+adoptionSlack.Milliseconds()
}

// verdict is what the suspects of one orphan say.
type verdict struct {
	adopt     int64   // rid; 0 for nobody
	ambiguous []int64 // rids of doubts that fit as well as each other
}

// judge adopts when exactly one delivery over all runs fits and nothing that is still
// in flight could be the sender as well; that one will soon tell by its result.
func judge(o orphan, suspects []suspect) verdict {
	var closed []int64
	open := 0
	for _, s := range suspects {
		switch {
		case !s.fits(o):
		case s.open:
			open++
		default:
			closed = append(closed, s.rid)
		}
	}
	switch {
	case len(closed) > 1:
		slices.Sort(closed)
		return verdict{ambiguous: closed}
	case len(closed) == 1 && open == 0:
		return verdict{adopt: closed[0]}
	}
	return verdict{}
}

// suspects are those to judge by in the transaction: the doubts of now, and of those of the snapshot what was in flight then, and what was a doubt
// then and has been decided since. That one may be in flight again, or have got this very message.
func suspects(now, then []suspect) []suspect {
	all := slices.Clone(now)
	for _, s := range then {
		if s.open || !slices.ContainsFunc(now, func(n suspect) bool { return n.rid == s.rid }) {
			s.open = true
			all = append(all, s)
		}
	}
	return all
}

// byFirst orders orphans by their earliest event, so that every replica adopts alike.
func byFirst(a, b orphan) int {
	return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.messageID, b.messageID))
}

// adoptTime is how long a sweep goes on adopting: after it no other transaction is begun, and what is left waits for the next
// sweep, a second later.
const adoptTime = 2 * time.Second

// Limits of the orphans kept (reliability.md 3).
const (
	orphanAge = 7 * 24 * time.Hour
	orphanCap = 1_000_000
	sweepStep = 5_000 // rows that one sweep matches by id, and that one transaction deletes
)
