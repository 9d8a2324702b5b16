package sender

import (
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// circuit is the breaker of a connection (docs/limits.md#apart-from-the-rate). It is closed while
// answers prove what became of the requests. It opens when most answers prove nothing. An open
// breaker is a durable hold of the ledger, so all replicas have the same breaker. When the time of
// the hold is over, the breaker is half-open: one replica has up to halfOpenMost requests under way
// until one of them is proven.
type circuit struct {
	mu          sync.Mutex
	rest        time.Time // Until of the hold that was seen last; zero: closed
	term        int       // grows with each change of the breaker; answers to posts of an earlier term are ignored
	failed      int       // the last term in which a test failed
	last        breaker   // of the answers that prove nothing
	noProof     int       // answers in a row that prove nothing
	unknownCode string    // of the unknown answers in a row
	unknownBy   []int64   // the keys of the recipients that got them
}

// halfOpenMost is how many requests of a half-open breaker may be under way.
const halfOpenMost = 3

// unknownSame is how many different recipients in a row must get the same unknown answer before it
// counts as a fault of the connection.
const unknownSame = 5

// circuitState says which requests a breaker permits: all (closed), none (open) or a few
// (half-open).
type circuitState uint8

const (
	closed circuitState = iota
	open
	halfOpen
)

// circuit is the state of the breaker of a connection.
func (h *holds) circuit(connection string, now time.Time) (circuitState, campaign.Hold) {
	b := h.breaker(connection)
	switch {
	case b.Source == "":
		return closed, b
	case b.Probing(now):
		return halfOpen, b
	}
	return open, b
}

// circuit is the state of the connection: that of its breaker, or half-open if a hold that stops it
// is tried. It returns the hold that the state is of.
func (e *Engine) circuit(connection string, now time.Time) (circuitState, campaign.Hold) {
	state, b := e.holds.circuit(connection, now)
	if state == open || e.holds.none() {
		return state, b
	}
	found := false
	for _, h := range e.holds.now.Load().naming(e.origin(connection, nil)) {
		if h.Tried() && h.Probing(now) && (!found || h.Scope < b.Scope) { // the account's before that of the connection
			state, b, found = halfOpen, h, true
		}
	}
	return state, b
}

// testsOf is how many requests may be under way while the state of a connection is half-open.
func testsOf(b campaign.Hold) int {
	if b.Tried() {
		return 1
	}
	return halfOpenMost
}

// ticket is the state of the breaker when a post began.
type ticket struct {
	term  int
	probe bool          // it tests a half-open breaker
	tried campaign.Hold // that it tests; its Scope is "" if it tests none
}

// see notes the hold of the breaker, which another replica may have opened or closed.
func (c *circuit) see(b campaign.Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.rest.Equal(b.Until) {
		c.begin(b.Until)
		c.noProof = 0 // not in begin: between the trip and its hold, full counts these answers
	}
}

// ticket begins a post under the breaker's hold b.
func (c *circuit) ticket(b campaign.Hold, probe bool) ticket {
	c.see(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ticket{term: c.term, probe: probe}
}

// begin begins a term and forgets the answers of earlier terms. The caller holds the lock.
func (c *circuit) begin(rest time.Time) {
	c.rest = rest
	c.term++ // never 0 again
	c.last.forget()
	c.unknownCode, c.unknownBy = "", nil
}

// withoutProof is how many answers in a row have proven nothing.
func (c *circuit) withoutProof() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noProof
}

// verdict is what an answer tells about the service.
type verdict uint8

const (
	neutral     verdict = iota // nothing: the client itself refused the message
	proven                     // the service answers and works
	unproven                   // the answer proves nothing
	unknown                    // the answer is not known: it may be about the service or about this recipient
	unreachable                // no request could be written
)

// verdictOf is the verdict of an exchange; e is nil after an acceptance.
func verdictOf(e *messaging.Error) verdict {
	switch {
	case e == nil || e.Proven():
		return proven
	case e.Action == messaging.RetryUnknown:
		return unknown
	case e.Proof == messaging.NotSent && e.Status == 0 && e.Action == messaging.RetryLater:
		return unreachable
	case e.Proof == messaging.NotSent && e.Status == 0:
		return neutral
	}
	return unproven
}

// change is what an answer does to the breaker.
type change uint8

const (
	stays change = iota
	trips
	closes
)

// observe counts the answer to a post, and returns what the answer does to the breaker. Answers to
// posts of an earlier term are ignored. again means that the recipient has had a try that counted:
// another unknown answer to it tells nothing new about the connection.
func (c *circuit) observe(t ticket, v verdict, code string, key int64, again bool) change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.probe && v == proven && (t.term == c.term || t.term == c.failed) {
		c.begin(c.rest)
		c.failed, c.noProof = 0, 0
		return closes // also after another test of the same round has failed
	}
	if t.term != c.term || v == neutral {
		return stays
	}
	if t.probe {
		c.failed = c.term
		c.begin(c.rest)
		return trips
	}
	if c.count(v, code, key, again) {
		c.begin(c.rest)
		return trips
	}
	return stays
}

// count counts the answer to a post of a closed breaker, and reports whether the breaker trips. The
// caller holds the lock.
func (c *circuit) count(v verdict, code string, key int64, again bool) bool {
	switch v {
	case proven:
		c.last.note("")
		c.noProof, c.unknownCode, c.unknownBy = 0, "", nil
	case unproven:
		c.noProof++
		c.unknownCode, c.unknownBy = "", nil
		return c.last.note("unproven")
	case unknown:
		if again {
			return false
		}
		c.noProof++
		if code != c.unknownCode {
			c.unknownCode, c.unknownBy = code, nil
		}
		if !slices.Contains(c.unknownBy, key) {
			c.unknownBy = append(c.unknownBy, key)
		}
		return c.last.note("unproven") || len(c.unknownBy) >= unknownSame
	}
	return false
}
