package sender_test

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// policy compares the sender's acts with the answers that it got. Four promises: throttling never
// counts as a try; a hold stops what it names and nothing else; a breaker opens and lets few
// requests through; a slot is used within its lateness, or not at all.
type policy struct {
	heard    map[sent][]heard
	slots    map[string][]time.Time // leased and not used, by connection
	holds    map[holdName]*holding
	perhaps  map[holdName]bool      // of a process that died before the hold was certainly written
	stored   map[holdName]time.Time // when the ledger was last seen to have it
	lifted   map[holdName]time.Time // by the operator
	asked    map[string]bool        // scope, id and reason of each hold that an answer asked for
	breakers map[string]*breaker
	faults   map[string]*streak // by template: payload faults
	life     time.Time          // since when the process that lives can send: its start, or after a commit that was lost
	died     time.Time          // the last process
}

// heard is an answer that a process has read.
type heard struct {
	connection string
	at, posted time.Time
	kind       string
	wait       time.Duration
	nth        int // of the delivery's POSTs
}

// streak counts answers of one sort.
type streak struct {
	row  int // one after the other
	last []bool
}

func (s *streak) note(is bool) {
	if s.row++; !is {
		s.row = 0
	}
	s.last = append(s.last[max(0, len(s.last)-29):], is)
}

func (s *streak) of30() (n int) {
	for _, is := range s.last {
		if is {
			n++
		}
	}
	return n
}

const (
	// lateness is until when a slot may be used: what the limiter allows, and 15 ms because slots that
	// lie close are used together. The gate takes 0.1 ms more.
	lateness = throttle.Lateness + 15*time.Millisecond
	atGate   = 200 * time.Microsecond
	// stopped is how long what is stopped may go on: with the POST that is being made.
	stopped = 50 * time.Millisecond
)

func newPolicy() policy {
	return policy{heard: map[sent][]heard{}, slots: map[string][]time.Time{}, holds: map[holdName]*holding{},
		perhaps: map[holdName]bool{}, stored: map[holdName]time.Time{},
		lifted: map[holdName]time.Time{}, asked: map[string]bool{}, breakers: map[string]*breaker{}, faults: map[string]*streak{}}
}

// begin says that a process begins: the memory of the one before is gone.
func (p *policy) begin(w *world) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(p.slots)
	p.survive()
	clear(p.faults)
	for _, r := range w.load.runs {
		r.held = time.Time{}
	}
	p.life = time.Now()
}

// lost says that a process may not use the segments of an intent: until their leases have run out.
func (p *policy) lost(w *world) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.life = time.Now().Add(16 * time.Second)
}

// leased is the limiter of a process; it tells the witness of each slot of a number.
type leased struct {
	throttle.Limiter
	w *world
	g *gate
}

func (l leased) Lease(ctx context.Context, key string, rate float64, n int) (throttle.Slots, error) {
	slots, err := l.Limiter.Lease(ctx, key, rate, n)
	if err == nil && !l.g.dead.Load() {
		l.w.mu.Lock()
		for i := range slots.N {
			l.w.policy.slots[key] = append(l.w.policy.slots[key], slots.At(i))
		}
		l.w.mu.Unlock()
	}
	return slots, err
}

// post compares a POST that reaches the wire now with the answers before it.
func (p *policy) post(w *world, m posted, run *campaignRun) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	c, k := m.ConnectionID, m.sent()
	mine := p.slots[c]
	for len(mine) > 0 && now.Sub(mine[0]) > lateness+atGate {
		mine = mine[1:]
		w.counts["slot forfeited"]++
	}
	if len(mine) == 0 || mine[0].After(now) {
		w.worse("%s was posted over %s %v after its last slot, or before one: a slot is used until %v after it", k.to, c, now.Sub(p.last(c)),
			lateness)
	} else {
		mine = mine[1:]
	}
	p.slots[c] = mine
	p.test(w, c, now)
	if name, h := p.held(c, k.template, now); h != nil && now.Sub(h.from) > stopped {
		w.worse("%s was posted to %s over %s %v after the service had stopped %s %s (%s)", k.template, k.to, c, now.Sub(h.from), name.scope,
			name.id, h.why)
	}
	if run == nil {
		return
	}
	if !run.held.IsZero() && now.Sub(run.held) > stopped {
		w.worse("%s was posted to %s %v after the service had stopped the run (%s)", k.template, k.to, now.Sub(run.held), run.heldBy)
	}
	run.lastPost, run.shares = now, [2]float64{run.shares[1], 0}
	if all := p.heard[k]; len(all) > 0 && run.policy != campaign.UncertainResend {
		before := all[len(all)-1]
		least := before.least()
		if before.kind == "throttled" && before.connection != c { // that number rests, not this one
			least = time.Second
		}
		if due := before.at.Add(least); now.Before(due) {
			w.worse("%s was posted to %s %v after it was answered %s, want %v or more", k.template, k.to, now.Sub(before.at), before.kind,
				least)
		}
	}
}

// last is the last slot of a connection that passed; for a message only.
func (p *policy) last(c string) time.Time {
	if all := p.slots[c]; len(all) > 0 {
		return all[0]
	}
	return p.life
}

// least is how long a delivery waits at least after such an answer.
func (h heard) least() time.Duration {
	switch h.kind {
	case "throttled":
		return max(h.wait, time.Second)
	case "pair": // 6 s x 4^k
		return 6 * time.Second << (2 * min(h.nth-1, 4))
	case "retryable":
		return backoff
	}
	return 0
}

// hear notes an answer that a process got, and whom else it stops. text is what it read of an
// acceptance.
func (p *policy) hear(w *world, m posted, began time.Time, resp *http.Response, text []byte, err error) {
	h := heard{at: time.Now(), posted: began, connection: m.ConnectionID}
	code := 0
	h.kind, h.wait, code = meaning(resp, text, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	c, k := m.ConnectionID, m.sent()
	h.nth = w.seen.posted[k]
	p.heard[k] = append(p.heard[k], h)
	p.answer(w, m, h, code)
	p.prove(w, c, h)
	for _, r := range w.load.runs {
		if p.names(r, k, h) {
			r.named[campaign.PausedByBreaker] = true
			if r.held.IsZero() && began.After(r.resumed) {
				r.held, r.heldBy = h.at, h.kind+" "+strconv.Itoa(code)
				w.counts["paused for its payload"]++
			}
		}
	}
}

// names reports whether an answer is the one that pauses a run.
func (p *policy) names(r *campaignRun, k sent, h heard) bool {
	if r.template != k.template {
		return false
	}
	switch h.kind {
	case "doubt", "number", "template", "account", "allowance":
		return false
	}
	if p.faults[k.template] == nil {
		p.faults[k.template] = &streak{}
	}
	f := p.faults[k.template]
	f.note(h.kind == "payload")
	if f.of30() >= 20 {
		r.named[campaign.PausedByBreaker] = true
	}
	if f.row == 20 {
		f.row = 0
		return true
	}
	return false
}

// resume says that a run is about to go on. One that was paused goes on without its count of
// faults.
func (p *policy) resume(r *campaignRun, paused bool) {
	r.held, r.resumed = time.Time{}, time.Now()
	if paused {
		delete(p.faults, r.template)
	}
}
