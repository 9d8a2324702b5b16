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

// Orphan is a message that only webhooks know: all its waiting events together.
type Orphan struct {
	MessageID  string
	Hash       int64
	Key        int64  // of the recipient
	Connection string // "" when no event named one
	First      int64  // millis of its earliest event
}

// Suspect is a delivery that an orphan may be about.
type Suspect struct {
	RowID      int64
	Connection string // "" when its segment was never bound
	IntentAt   int64  // millis
	Since      int64  // millis; when the doubt began
	Open       bool   // still in flight: no result yet, so not adoptable, but perhaps the sender
}

// fits says whether the orphan may be the message of s. Its earliest event decides: a
// message whose first status is older than the intent was sent by somebody else.
func (s Suspect) fits(o Orphan) bool {
	if s.Connection != "" && o.Connection != "" && s.Connection != o.Connection {
		return false
	}
	if o.First < s.IntentAt-adoptionEarly.Milliseconds() {
		return false
	}
	return s.Open || o.First <= s.Since+adoptionSlack.Milliseconds()
}

// Match is what the suspects of one orphan say.
type Match struct {
	RowID     int64   // rid; 0 for nobody
	Ambiguous []int64 // rids of doubts that fit as well as each other
}

// MatchOrphan adopts when exactly one delivery over all runs fits and nothing that is still
// in flight could be the sender as well; that one will soon tell by its result.
func MatchOrphan(o Orphan, suspects []Suspect) Match {
	var closed []int64
	open := 0
	for _, s := range suspects {
		switch {
		case !s.fits(o):
		case s.Open:
			open++
		default:
			closed = append(closed, s.RowID)
		}
	}
	switch {
	case len(closed) > 1:
		slices.Sort(closed)
		return Match{Ambiguous: closed}
	case len(closed) == 1 && open == 0:
		return Match{RowID: closed[0]}
	}
	return Match{}
}

// Suspects are those to judge by in the transaction: the doubts of now, and of those of the snapshot what was in flight then, and what was a doubt
// then and has been decided since. That one may be in flight again, or have got this very message.
func Suspects(now, then []Suspect) []Suspect {
	all := slices.Clone(now)
	for _, s := range then {
		if s.Open || !slices.ContainsFunc(now, func(n Suspect) bool { return n.RowID == s.RowID }) {
			s.Open = true
			all = append(all, s)
		}
	}
	return all
}

// ByFirst orders orphans by their earliest event, so that every replica adopts alike.
func ByFirst(a, b Orphan) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.MessageID, b.MessageID))
}

// AdoptTime is how long a sweep goes on adopting: after it no other transaction is begun, and what is left waits for the next
// sweep, a second later.
const AdoptTime = 2 * time.Second

// Limits of the orphans kept (reliability.md 3).
const (
	OrphanAge = 7 * 24 * time.Hour
	OrphanCap = 1_000_000
	SweepStep = 5_000 // rows that one sweep matches by id, and that one transaction deletes
)
