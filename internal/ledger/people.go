package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// Times of the limits that count people (docs/limits.md#tier).
const (
	// InboundFor is how long a recipient's own message keeps the service window open for an intent.
	// The platform counts 24 hours; the message leaves within a minute.
	InboundFor = 24*time.Hour - time.Minute
	// ContactFor is how long a message counts for frequency caps: the longest `per`.
	ContactFor = campaign.MostCapPer
	// PairFor is how long a message counts for the pair limit. The second above PairSpace is for the
	// time from the intent to the post.
	PairFor = campaign.PairSpace + time.Second
)

// Reasons that the ledger writes where a delivery waits because of its recipient.
const (
	CodePair = string(campaign.ByPairLimit)    // campaign.PairSpace after another message
	CodeCap  = string(campaign.ByFrequencyCap) // policies.frequency_cap with action: defer
)

// CountsPeople reports whether the intent depends on whom messages have reached before.
func CountsPeople(in *campaign.Intent) bool {
	return in.Tier.Places > 0 || in.Cap != nil || in.Pair
}

// Portfolio is the key of the intent's tier.
func Portfolio(in *campaign.Intent) string {
	return cmp.Or(in.Tier.Portfolio, in.Connection)
}

// People is what a transaction of intents knows of its recipients. A backend fills it with what it
// read under the lock of the portfolios; Grant keeps it up to date, so that later intents of the
// transaction see what the earlier ones took. Times are in milliseconds by the ledger's clock.
type People struct {
	Now   int64
	ahead int64 // the clock of this process minus that of the ledger

	taken    map[string]int64    // places taken, by portfolio
	reached  map[person]bool     // by portfolio: recipients with a place
	inbound  map[person]bool     // by connection: recipients with an open service window
	contacts map[int64][]Contact // by recipients.Key
}

// person is a recipient as a portfolio or a connection knows them.
type person struct {
	key int64 // recipients.Key
	by  string
}

// Contact is a message to a recipient that counts for the pair limit, and for frequency caps.
type Contact struct {
	Key, RID   int64
	At         int64
	Connection string
	Capped     bool // the run has a frequency cap
}

// ScanContact reads key, rid, at, connection and capped.
func ScanContact(scan func(...any) error) (c Contact, err error) {
	err = scan(&c.Key, &c.RID, &c.At, &c.Connection, &c.Capped)
	return c, err
}

// Until is how long the contact is kept.
func (c Contact) Until() int64 {
	if c.Capped {
		return c.At + ContactFor.Milliseconds()
	}
	return c.At + PairFor.Milliseconds()
}

// Reached is a place of a tier that a granted delivery has taken, alone or beside other messages to
// the same recipient.
type Reached struct {
	Portfolio string
	Key, RID  int64
	New       bool // it takes one more place
}

// ScanReached reads the first and the last time of an hour in which places were taken, and how
// many.
func ScanReached(scan func(...any) error) (r campaign.Reached, err error) {
	var from, to int64
	err = scan(&from, &to, &r.N)
	r.From, r.To = TimeOf(from), TimeOf(to)
	return r, err
}

// Deferral says until when a delivery waits because of its recipient.
type Deferral struct {
	At  int64 // by the clock of this process, in milliseconds
	Why string
}

// NewPeople returns a People without recipients. now is the time of the ledger's clock.
func NewPeople(now int64) *People {
	return &People{Now: now, ahead: Millis(time.Now()) - now, taken: map[string]int64{}, reached: map[person]bool{},
		inbound: map[person]bool{}, contacts: map[int64][]Contact{}}
}

// Taken sets how many places of a portfolio are taken. A place is free again after
// campaign.ReachFor.
func (p *People) Taken(portfolio string, n int64) { p.taken[portfolio] = n }

// Reach says that a recipient has a place.
func (p *People) Reach(portfolio string, key int64) { p.reached[person{key, portfolio}] = true }

// Inbound says that the service window of a recipient is open on a connection.
func (p *People) Inbound(connection string, key int64) { p.inbound[person{key, connection}] = true }

// Contact adds an earlier message.
func (p *People) Contact(c Contact) {
	key := recipients.Fold(c.Key)
	if slices.ContainsFunc(p.contacts[key], func(o Contact) bool { return o.RID == c.RID }) {
		return // read for both spellings
	}
	p.contacts[key] = append(p.contacts[key], c)
}

// contactsOf are the messages to a recipient, under whatever key they are stored.
func (p *People) contactsOf(key int64) []Contact { return p.contacts[recipients.Fold(key)] }

// Used is how many places of a portfolio are taken now.
func (p *People) Used(portfolio string) int64 { return p.taken[portfolio] }

// local is an instant by the clock of this process.
func (p *People) local(at int64) int64 { return at + p.ahead }

// capped says whether the frequency cap of the intent's run stops the delivery, and until when.
func (p *People) capped(in *campaign.Intent, key, rid int64) (until int64, capped bool) {
	if in.Cap == nil || key == 0 {
		return 0, false
	}
	per := time.Duration(in.Cap.Per).Milliseconds()
	var at []int64
	for _, c := range p.contactsOf(key) {
		own := c.RID == rid // an earlier attempt of the same delivery
		if !c.Capped || own || c.At <= p.Now-per {
			continue
		}
		at = append(at, c.At)
	}
	if len(at) < in.Cap.Messages {
		return 0, false
	}
	slices.Sort(at)
	return at[len(at)-in.Cap.Messages] + per, true
}

// close says until when the delivery is too close to another message to its recipient over the
// same connection; 0: it is not.
func (p *People) close(in *campaign.Intent, key int64) (until int64) {
	if !in.Pair || key == 0 {
		return 0
	}
	for _, c := range p.contactsOf(key) {
		if c.Connection != in.Connection {
			continue
		}
		if free := c.At + PairFor.Milliseconds(); free > p.Now {
			until = max(until, free)
		}
	}
	return until
}

// place says whether the delivery needs a place of the tier, has one, and has or can get one
// (free).
func (p *People) place(in *campaign.Intent, key int64) (needs, has, free bool) {
	if in.Tier.Places <= 0 || key == 0 || p.inbound[person{key, in.Connection}] {
		return false, false, true
	}
	has = p.reached[person{key, Portfolio(in)}]
	return true, has, has || p.taken[Portfolio(in)] < in.Tier.Places
}

// take charges a delivery that is granted.
func (p *People) take(in *campaign.Intent, key, rid int64, d *Decision) {
	if key == 0 {
		return
	}
	if needs, has, _ := p.place(in, key); needs {
		by := Portfolio(in)
		d.Reached = append(d.Reached, Reached{Portfolio: by, Key: key, RID: rid, New: !has})
		if !has {
			p.taken[by]++
			p.Reach(by, key)
		}
	}
	if in.Cap == nil && !in.Pair {
		return
	}
	c := Contact{Key: key, RID: rid, At: p.Now, Connection: in.Connection, Capped: in.Cap != nil}
	p.contacts[recipients.Fold(key)] = append(slices.DeleteFunc(p.contactsOf(key), func(o Contact) bool { return o.RID == rid }), c)
	d.Contacts = append(d.Contacts, c)
}

// Messages is how many messages that count for frequency caps are stored under a key.
type Messages struct {
	Key int64
	N   int
}

// ScanMessages reads key and number.
func ScanMessages(scan func(...any) error) (m Messages, err error) {
	err = scan(&m.Key, &m.N)
	return m, err
}

// Capped are the recipients with at least so many messages, in both spellings.
func Capped(all []Messages, messages int) map[int64]bool {
	sum, found := map[int64]int{}, map[int64]bool{}
	for _, m := range all {
		key := recipients.Fold(m.Key)
		if sum[key] += m.N; sum[key] >= messages {
			found[key], found[cmp.Or(recipients.Other(key), key)] = true, true
		}
	}
	return found
}

// Full is a tier that had no free place for a delivery.
type Full struct {
	Portfolio string
	Places    int64
	Taken     int64
}

// Over says which of the taken places, the oldest first and from 0, must end before another
// recipient can have one.
func (f Full) Over() int64 { return max(0, f.Taken-f.Places) }

// Limit says what the lane waits for. at is when the place that frees next was taken; 0: it was
// taken now.
func (p *People) Limit(f Full, at int64) campaign.Limit {
	if at == 0 {
		at = p.Now
	}
	until := TimeOf(p.local(at + campaign.ReachFor.Milliseconds()))
	return campaign.Limit{By: campaign.ByTier, Until: until, Detail: fmt.Sprintf(
		"portfolio %s has reached %d people in 24 hours, of %d that its tier allows; the next place frees at %s",
		f.Portfolio, f.Taken, f.Places, until.UTC().Format(time.RFC3339))}
}
