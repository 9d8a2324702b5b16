package sender_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// policy compares the sender's acts with the answers that it got. Three promises: throttling never
// counts as a try; a hold stops what it names and nothing else; a slot is used within its lateness,
// or not at all.
type policy struct {
	heard  map[sent][]heard
	slots  map[string][]time.Time // leased and not used, by connection
	rests  map[string]rest        // of the process that lives, by connection
	doubts map[string]*streak     // by connection: answers that proved nothing
	faults map[string]*streak     // by template: payload faults
	life   time.Time              // since when the process that lives can send: its start, or after a commit that was lost
}

// heard is an answer that a process has read.
type heard struct {
	at, posted time.Time
	kind       string
	wait       time.Duration
	nth        int // of the delivery's POSTs
}

// rest is a hold of a whole number that ends by itself.
type rest struct{ from, until time.Time }

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
	// inHand is how long a held number may go on: with the slots that it has leased.
	inHand = throttle.Horizon + lateness + 10*time.Millisecond
	// stopped is how long a run that is stopped may go on: with the POST that is being made.
	stopped = 50 * time.Millisecond
)

func newPolicy() policy {
	return policy{heard: map[sent][]heard{}, slots: map[string][]time.Time{}, rests: map[string]rest{}, doubts: map[string]*streak{},
		faults: map[string]*streak{}}
}

// begin says that a process begins: the memory of the one before is gone.
func (p *policy) begin(w *world) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(p.slots)
	clear(p.rests)
	clear(p.doubts)
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
	if r := p.rests[c]; now.Sub(r.from) > inHand && now.Before(r.until) {
		w.worse("%s was posted over %s, which was to rest for %v, %v after that was said", k.to, c, r.until.Sub(r.from), now.Sub(r.from))
	}
	if run == nil {
		return
	}
	if !run.held.IsZero() && now.Sub(run.held) > stopped {
		w.worse("%s was posted to %s %v after the service had stopped the run (%s)", k.template, k.to, now.Sub(run.held), run.heldBy)
	}
	run.lastPost = now
	if all := p.heard[k]; len(all) > 0 && run.policy != campaign.UncertainResend {
		before := all[len(all)-1]
		if due := before.at.Add(before.least()); now.Before(due) {
			w.worse("%s was posted to %s %v after it was answered %s, want %v or more", k.template, k.to, now.Sub(before.at), before.kind,
				before.least())
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

// hear notes an answer that a process got, and whom else it stops.
func (p *policy) hear(w *world, m posted, began time.Time, resp *http.Response, err error) {
	h := heard{at: time.Now(), posted: began}
	code := 0
	h.kind, h.wait, code = meaning(resp, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	c, k := m.ConnectionID, m.sent()
	h.nth = w.seen.posted[k]
	p.heard[k] = append(p.heard[k], h)
	if h.wait > 0 {
		p.holds(c, h.at, h.wait)
	}
	if p.doubts[c] == nil {
		p.doubts[c] = &streak{}
	}
	if p.doubts[c].note(h.kind == "doubt"); p.doubts[c].row == 20 {
		// Earlier doubts may have made it rest sooner: then it rests for less time from now.
		p.holds(c, h.at, 25*time.Second)
		p.doubts[c].row = 0
		w.counts["number rests because of doubts"]++
	}
	for _, r := range w.load.runs {
		if reason := p.names(r, c, k, h); reason != "" {
			r.named[reason] = true
			if r.held.IsZero() && began.After(r.resumed) {
				r.held, r.heldBy = h.at, h.kind+" "+strconv.Itoa(code)
				w.counts["stopped: "+string(reason)]++
			}
		}
	}
}

// names is the reason for which an answer stops a run; empty: it does not.
func (p *policy) names(r *campaignRun, c string, k sent, h heard) campaign.PauseReason {
	mine := r.template == k.template
	switch h.kind {
	case "number":
		if slices.Contains(r.connections, c) {
			return campaign.PausedByNumber
		}
	case "template":
		if mine && h.posted.After(r.approved) {
			return campaign.PausedByTemplate
		}
	case "account":
		return campaign.PausedByAccount
	case "allowance":
		return campaign.PausedByAllowance
	case "doubt":
	default:
		if !mine {
			return ""
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
			return campaign.PausedByBreaker
		}
	}
	return ""
}

// resume says that a run is about to go on.
func (p *policy) resume(r *campaignRun) {
	r.held, r.resumed = time.Time{}, time.Now()
	delete(p.faults, r.template)
}
