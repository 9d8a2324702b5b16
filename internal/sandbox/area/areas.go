package area

import (
	"container/heap"
	"maps"
	"strconv"
	"sync/atomic"
	"time"
)

// World is what the areas get from the sandbox. Every function of it but Replay is called with the
// sandbox's lock held.
type World struct {
	Began       time.Time
	Companies   []*Company
	Connections []*Connection
	Templates   []Template
	Assets      []Asset
	Flows       []Flow
	Review      Review
	// Storage is the number of bytes of a plan. 0 means 1 GiB.
	Storage int64
	// History is how many days before Began have invented counts.
	History int
	// ReadPhone reads a phone number as the platform does; 0 if it is none.
	ReadPhone func(text string) uint64
	// Wrote reports whether a person wrote to a connection in the last 24 hours.
	Wrote func(c *Connection, number uint64, now time.Time) bool
	// Draw returns 64 bits that depend on the seed and the keys only.
	Draw func(keys ...uint64) uint64
	// Token returns a text of 64 hexadecimal digits that depends on the seed, the time of the start
	// and n.
	Token func(n uint64) string
	// Post posts an event to the endpoints.
	Post func(Event)
	// Usage returns how many messages of this month the plan of a company counts, and its limit; 0
	// means none. "" is the plan of the account.
	Usage func(company string) (used, limit int64)
	// Replay posts past events that the key covers again, to one endpoint or, with nil, to all, and
	// returns the number of postings. It is called without the lock.
	Replay func(r Replay, key *Key, only *Endpoint) int
	// Send sends a body of POST /messages over a connection of its client. Pace is the throughput of a
	// number in messages per second.
	Send func(c *Connection, body []byte) Outcome
	Pace func(c *Connection) int
	// Statuses calls yield with every status that has happened.
	Statuses func(yield func(Status))
}

// Event is an event for the webhooks.
type Event struct {
	Type       string
	Company    string
	Connection *Connection
	// Data is the value of data in the service's envelope; Value is the value of Field in the
	// platform's.
	Data  []byte
	Field string
	Value []byte
}

// Status is one status of a message: sent, delivered, read or failed.
type Status struct {
	Name       string
	At         time.Time
	Template   *Record // nil: not a template
	To         uint64
	Connection *Connection
	Company    string
}

// Areas are the areas with their state. The caller of every method holds the sandbox's lock.
type Areas struct {
	World

	companies   map[string]*Company
	connections map[string]*Connection
	agenda      agenda
	wake        chan struct{}
	serials     map[string]int

	endpoints  atomic.Pointer[[]*Endpoint] // a change replaces the slice
	Deliveries Deliveries

	templates templates
	Uploads   []Uploaded // the files that clients stored, in their order
	media     media
	flows     flows
	campaigns campaigns

	slots     map[string]time.Time // the next free slot of a number, for campaigns
	profiles  map[string]*profile  // by connection
	settings  map[string]*settings
	blocked   map[string]map[uint64]time.Time // by connection and phone number
	codes     []*qrCode
	codesMade uint64
}

// New makes the areas of a world. An error names the part of the scenario.
func New(w World) (*Areas, error) {
	a := &Areas{
		World: w, companies: map[string]*Company{}, connections: map[string]*Connection{},
		wake: make(chan struct{}, 1), serials: map[string]int{},
		slots:    map[string]time.Time{},
		profiles: map[string]*profile{}, settings: map[string]*settings{}, blocked: map[string]map[uint64]time.Time{},
	}
	for _, c := range w.Companies {
		a.companies[c.ID] = c
	}
	for _, c := range w.Connections {
		a.connections[c.ID] = c
	}
	a.endpoints.Store(&[]*Endpoint{})
	a.fillTemplates()
	a.fillMedia()
	a.fillFlows()
	a.campaigns.byID, a.campaigns.of = map[string]*campaign{}, map[string]int{}
	return a, nil
}

// Handlers returns the handlers by the name of their operation.
func (a *Areas) Handlers() map[string]Handler {
	all := map[string]Handler{}
	for _, area := range []map[string]Handler{a.templateHandlers(), a.mediaHandlers(), a.profileHandlers(), a.blockedHandlers(),
		a.qrHandlers(), a.analyticsHandlers(), a.billingHandlers(), a.flowHandlers(), a.campaignHandlers(), a.webhookHandlers(),
		a.listingHandlers()} {
		maps.Copy(all, area)
	}
	return all
}

// serial returns the next id with this prefix, such as tpl_8. taken reports whether a scenario has
// the id already.
func (a *Areas) serial(prefix string, taken func(id string) bool) string {
	for {
		a.serials[prefix]++
		if id := prefix + "_" + strconv.Itoa(a.serials[prefix]); !taken(id) {
			return id
		}
	}
}

// firstOf returns the first connection of a company, or nil.
func (a *Areas) firstOf(company string) *Connection {
	for _, c := range a.World.Connections {
		if c.Company == company {
			return c
		}
	}
	return nil
}

// action is something that happens at an instant.
type action struct {
	at time.Time
	n  int // order of the actions of one instant
	do func(now time.Time)
}

// agenda is a heap of actions; the next one is on top.
type agenda struct {
	actions []action
	n       int
}

func (g *agenda) Len() int { return len(g.actions) }
func (g *agenda) Less(i, j int) bool {
	a, b := g.actions[i], g.actions[j]
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.n < b.n
}
func (g *agenda) Swap(i, j int) { g.actions[i], g.actions[j] = g.actions[j], g.actions[i] }
func (g *agenda) Push(x any)    { g.actions = append(g.actions, x.(action)) }
func (g *agenda) Pop() any {
	last := len(g.actions) - 1
	x := g.actions[last]
	g.actions[last] = action{}
	g.actions = g.actions[:last]
	return x
}

// At calls do at the instant, or at the first request after it.
func (a *Areas) At(at time.Time, do func(now time.Time)) {
	a.agenda.n++
	heap.Push(&a.agenda, action{at, a.agenda.n, do})
	if a.agenda.actions[0].n != a.agenda.n {
		return // another action comes first
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Due calls the actions whose time has come. The sandbox calls it before every request and when
// Next has come.
func (a *Areas) Due(now time.Time) {
	for len(a.agenda.actions) > 0 && !a.agenda.actions[0].at.After(now) {
		next := heap.Pop(&a.agenda).(action)
		next.do(next.at)
	}
}

// Next is the instant of the next action. ok is false if there is none.
func (a *Areas) Next() (at time.Time, ok bool) {
	if len(a.agenda.actions) == 0 {
		return time.Time{}, false
	}
	return a.agenda.actions[0].at, true
}

// Wake receives when the next action may have changed. It needs no lock.
func (a *Areas) Wake() <-chan struct{} { return a.wake }
