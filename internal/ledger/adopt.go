package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// Adoption finds the delivery of an event whose message id no delivery has: its answer was lost,
// and the event is the only proof that the service accepted it (docs/protocol.md#adoption). The
// table attempt has what an event may prove: the attempts that may have been sent and have no
// answer.

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
	Untimed    bool   // no event has a time of its own: First is that of the earliest receipt
	Received   int64  // its first receipt, in milliseconds
	// Marked and Attempt are the row id and the number of the attempt that a mark proves
	// (docs/protocol.md#adoption); 0 without a mark.
	Marked, Attempt int64
}

// AcceptedAt is the time of acceptance that an adoption writes, in milliseconds. The policy
// evidence may send again because of it, so the first receipt counts if that is earlier
// (reception.LiftTime).
func (o Orphan) AcceptedAt() int64 { return min(o.First, o.Received) }

// Attempt is an attempt that an orphan may be about: an open one, or one in flight.
type Attempt struct {
	RowID      int64
	Number     int
	Key        int64
	Connection string // "" if it may be any
	IntentAt   int64  // in milliseconds: its intent was asked for then, or later
	DoubtAt    int64  // in milliseconds: when its doubt was written (a suspended owner may post after it)
	// Platform means that only events of its own connection may be about it (Options.Platform).
	Platform bool
	// InFlight means that it has no result yet. An event cannot prove it yet. But an orphan that fits
	// it is not adopted at all, because its own result may name the same message.
	InFlight bool
}

// ScanOrphan reads hash, message id, key, connection, first, untimed, received, marked and attempt.
func ScanOrphan(scan func(...any) error) (o Orphan, err error) {
	err = scan(&o.Hash, &o.MessageID, &o.Key, &o.Connection, &o.First, &o.Untimed, &o.Received, &o.Marked, &o.Attempt)
	return o, err
}

// Marked returns the row id and the attempt of a mark as an orphan has them; 0 and 0 without one.
func Marked(p campaign.Post) (rid int64, attempt int) {
	if p.Attempt == 0 {
		return 0, 0
	}
	return RowID(p.Run, p.Seq), p.Attempt
}

// ScanAttempt reads the columns of the table attempt in their order.
func ScanAttempt(scan func(...any) error) (a Attempt, err error) {
	err = scan(&a.RowID, &a.Number, &a.Key, &a.Connection, &a.IntentAt, &a.DoubtAt)
	return a, err
}

// Tells reports whether an event of a connection ("": it names none) may be about a message that
// was sent over the connection sent. The secret behind the event vouches for its own connection
// only, so platform, the connections of the Cloud API in order, need the same one
// (docs/protocol.md#whose-events).
func Tells(platform []string, event, sent string) bool {
	return event == sent || !among(platform, event) && !among(platform, sent)
}

func among(platform []string, connection string) bool {
	_, found := slices.BinarySearch(platform, connection)
	return found
}

// fits says whether the orphan may be the message of a. A mark, and the connection that it was sent
// over, decide alone. Without a mark its earliest event decides: if that is older than the intent,
// another program sent the message. An event without a time of its own may be of any time since the
// intent.
func (a Attempt) fits(o Orphan) bool {
	if a.Connection != "" && a.Connection != o.Connection && (a.Platform || o.Marked != 0 || o.Connection != "") {
		return false
	}
	if o.Marked != 0 {
		return a.RowID == o.Marked && (a.Number == int(o.Attempt) || a.InFlight)
	}
	if o.First < a.IntentAt-adoptionEarly.Milliseconds() {
		return false
	}
	return a.InFlight || o.Untimed || o.First <= a.DoubtAt+adoptionLate.Milliseconds()
}

// Attempts are the attempts of each recipient, by recipients.Key. Attempts and orphans that an
// earlier version stored may have the other key of their recipient.
type Attempts map[int64][]Attempt

// Add adds an attempt. platform are the connections of the Cloud API.
func (as Attempts) Add(a Attempt, platform []string) {
	a.Platform = among(platform, a.Connection)
	key := recipients.Fold(a.Key)
	as[key] = append(as[key], a)
}

// match returns the deliveries that the orphan may be about and that have an open attempt which
// fits, each with the first such attempt. busy says that an attempt in flight fits too.
func (as Attempts) match(o Orphan, inFlight Attempts) (fitting []Attempt, busy bool) {
	flying, key := map[int64]bool{}, recipients.Fold(o.Key)
	for _, a := range inFlight[key] {
		if a.fits(o) {
			flying[a.RowID] = true
		}
	}
	for _, a := range as[key] {
		same := func(b Attempt) bool { return b.RowID == a.RowID }
		if a.fits(o) && !flying[a.RowID] && !slices.ContainsFunc(fitting, same) {
			fitting = append(fitting, a)
		}
	}
	return fitting, len(flying) > 0
}

// Search is one page of the orphans that open attempts may be about. It is read before the
// attempts in flight, so a later intent cannot have sent one of its messages.
type Search struct {
	Keys     []int64 // of the recipients, folded; the ledger may have them under other keys too (recipients.Spelled)
	messages map[string]bool
}

// NewSearch chooses the orphans that at least one open attempt fits.
func NewSearch(orphans []Orphan, open Attempts) Search {
	s := Search{messages: map[string]bool{}}
	for _, o := range orphans {
		if fitting, _ := open.match(o, nil); len(fitting) > 0 {
			s.Keys, s.messages[o.MessageID] = append(s.Keys, recipients.Fold(o.Key)), true
		}
	}
	slices.Sort(s.Keys)
	s.Keys = slices.Compact(s.Keys)
	return s
}

// Verdict is what follows from the orphans of a search.
type Verdict struct {
	Adopt     []Adoption
	Ambiguous int     // orphans that several deliveries fit
	Unsure    []int64 // the row ids of those deliveries
}

// Adoption is an orphan and the attempt that it proves.
type Adoption struct {
	Orphan  Orphan
	Attempt Attempt
}

// Connection is the one that sent the message. told says that only the event names it; the segment
// may have none, or another.
func (a Adoption) Connection() (connection string, told bool) {
	if a.Attempt.Connection != "" {
		return a.Attempt.Connection, false
	}
	return a.Orphan.Connection, a.Orphan.Connection != ""
}

// Match matches the orphans of the search. An orphan is adopted when exactly one delivery of all
// runs fits, and none in flight does: the result of that one is known soon. The caller reads in
// this order: the search, inFlight, then orphans and open. At most one orphan of a recipient is
// adopted; the next sweep looks at the others.
func (s Search) Match(orphans []Orphan, open, inFlight Attempts) (v Verdict) {
	slices.SortFunc(orphans, byFirst)
	adopted := map[int64]bool{}
	for _, o := range orphans {
		key := recipients.Fold(o.Key)
		if !s.messages[o.MessageID] || adopted[key] {
			continue
		}
		switch fitting, busy := open.match(o, inFlight); {
		case len(fitting) > 1:
			v.Ambiguous++
			for _, a := range fitting {
				v.Unsure = append(v.Unsure, a.RowID)
			}
		case len(fitting) == 1 && !busy:
			v.Adopt = append(v.Adopt, Adoption{o, fitting[0]})
			adopted[key] = true
		}
	}
	slices.Sort(v.Unsure)
	v.Unsure = slices.Compact(v.Unsure)
	return v
}

// byFirst orders orphans by their earliest event, so that all replicas adopt in one order.
func byFirst(a, b Orphan) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.MessageID, b.MessageID))
}

// NextKeys chooses the recipients of the next page of a search from the keys of the next AdoptPage
// orphans and open attempts. It takes the list of keys whose last key is greater: that list covers
// more recipients in one page. A list shorter than AdoptPage covers all. A few orphans among a
// million unknown outcomes are one page, and so are a few doubts among a million orphans. to is the
// last key that the page covers, 0 when it covers all.
func NextKeys(orphans, attempts []int64) (keys []int64, to int64) {
	reach := func(keys []int64) int64 {
		if len(keys) < AdoptPage {
			return math.MaxInt64
		}
		return keys[AdoptPage-1]
	}
	keys = orphans
	if a, o := reach(attempts), reach(orphans); a > o || a == o && len(attempts) < len(orphans) {
		keys = attempts
	}
	if to = reach(keys); to == math.MaxInt64 {
		to = 0
	}
	return slices.Compact(keys), to
}

// SpelledOnce returns the keys and their other spellings in order, each once.
func SpelledOnce(keys []int64) []int64 {
	all := slices.Clone(recipients.Spelled(keys))
	slices.Sort(all)
	return slices.Compact(all)
}

// AdoptPage is how many rows one page of a search has.
const AdoptPage = 1_000

// How long a sweep begins pages, and how long it searches without finding anything to adopt.
const (
	adoptTime   = 2 * time.Second
	adoptSearch = 200 * time.Millisecond
)

// AdoptPages calls page for one page of recipients after the other. It starts behind the key after.
// At the last key it starts again at the first. It stops after adoptTime, after adoptSearch without
// an adoption, or when it has come from the first key to the last. page returns the last key
// covered (0: the last of all) and how many deliveries it adopted. AdoptPages returns the key at
// which the next sweep, a second later, goes on. A page that fails is passed over, so that it
// delays no other.
func AdoptPages(after int64, page func(after int64) (to int64, adopted int, err error)) (int64, error) {
	search, fromStart := time.Duration(0), after == 0 // search: how long nothing was found
	for until := time.Now().Add(adoptTime); ; {
		began := time.Now()
		to, adopted, err := page(after)
		if adopted == 0 {
			search += time.Since(began)
		}
		if after = to; err != nil || after == 0 && fromStart || search > adoptSearch || time.Now().After(until) {
			return after, err
		}
		fromStart = fromStart || after == 0
	}
}

// Limits of the orphans kept (docs/protocol.md#orphan-events).
const (
	OrphanAge = 7 * 24 * time.Hour
	OrphanCap = 1_000_000
	SweepStep = 5_000 // orphans that one sweep matches by id, and that one transaction deletes
)
