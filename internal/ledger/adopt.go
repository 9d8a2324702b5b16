package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Adoption finds the delivery of an event whose message id no delivery has: its answer was lost, and
// the event is the only proof that the service accepted it (docs/protocol.md#adoption).

// adoptionLate is how long after the beginning of a doubt its first event may come: 10 s for the
// request, 60 s for clocks.
const adoptionLate = 10*time.Second + 60*time.Second

// adoptionEarly is how far the service's clock may be behind ours.
const adoptionEarly = 2 * time.Second

// Orphan is a message that only events know, with all its events.
type Orphan struct {
	MessageID  string
	Hash       int64
	Key        int64  // of the recipient; 0 if no event names one
	Connection string // "" if no event names one
	First      int64  // time of its earliest event, in milliseconds
}

// Suspect is a delivery that an orphan may be about.
type Suspect struct {
	RowID      int64
	Connection string // "" if its segment was never bound
	IntentAt   int64  // in milliseconds
	Since      int64  // beginning of the doubt, in milliseconds
	Open       bool   // in flight: it has no result yet, so it cannot adopt, but the message may be its own
}

// fits says whether the orphan may be the message of s. Its earliest event decides: if that is older
// than the intent, another program sent the message.
func (s Suspect) fits(o Orphan) bool {
	if s.Connection != "" && o.Connection != "" && s.Connection != o.Connection {
		return false
	}
	if o.First < s.IntentAt-adoptionEarly.Milliseconds() {
		return false
	}
	return s.Open || o.First <= s.Since+adoptionLate.Milliseconds()
}

// Match is the delivery that an orphan proves, if any.
type Match struct {
	RowID     int64   // 0: none
	Ambiguous []int64 // row ids of doubts that fit equally well
}

// MatchOrphan matches an orphan when exactly one delivery over all runs fits and no delivery in
// flight does. The result of one in flight will soon tell.
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

// Suspects are the deliveries to match an orphan with inside the transaction. current are the doubts
// of the transaction, snapshot the doubts and deliveries in flight of an earlier snapshot. A doubt that was
// decided since counts as in flight: it may be sent again by now, or have got this very message.
func Suspects(current, snapshot []Suspect) []Suspect {
	all := slices.Clone(current)
	for _, s := range snapshot {
		if s.Open || !slices.ContainsFunc(current, func(n Suspect) bool { return n.RowID == s.RowID }) {
			s.Open = true
			all = append(all, s)
		}
	}
	return all
}

// ByFirst orders orphans by their earliest event, so that all replicas adopt in one order.
func ByFirst(a, b Orphan) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.MessageID, b.MessageID))
}

// AdoptTime is how long a sweep begins transactions that adopt. The next sweep, a second later, goes
// on.
const AdoptTime = 2 * time.Second

// Limits of the orphans kept (docs/protocol.md#orphan-events).
const (
	OrphanAge = 7 * 24 * time.Hour
	OrphanCap = 1_000_000
	SweepStep = 5_000 // orphans that one sweep matches by id, and that one transaction deletes
)
