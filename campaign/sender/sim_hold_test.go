package sender_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"campaignd/campaign"
)

// holdName is what a hold stops.
type holdName struct {
	scope campaign.HoldScope
	id    string
}

// simOrigin is origin of one account: the sandbox's templates are those of all connections.
func simOrigin(connection string) campaign.Origin {
	o := origin(connection)
	o.Account = "account"
	return o
}

// holding is what the answers of the service say of one name.
type holding struct {
	why   string
	from  time.Time
	until time.Time // zero: until it is lifted
	said  time.Time // last
}

func (h *holding) inForce(now time.Time) bool { return h.until.IsZero() || now.Before(h.until) }

// stops reports whether a hold of this name stops a template over a connection.
func (n holdName) stops(connection, template string) bool {
	o := simOrigin(connection)
	o.Connection, o.Template, o.Language = connection, template, "en_US"
	return campaign.Hold{Scope: n.scope, ID: n.id}.Stops(o)
}

// names reports whether a hold of this name stops a run over one of its connections.
func (n holdName) names(r *campaignRun) bool {
	return slices.ContainsFunc(r.connections, func(c string) bool { return n.stops(c, r.template) })
}

// held is a hold in force that stops a template over a connection.
func (p *policy) held(connection, template string, now time.Time) (holdName, *holding) {
	for name, h := range p.holds {
		if h.inForce(now) && name.stops(connection, template) {
			return name, h
		}
	}
	return holdName{}, nil
}

// answer notes what an answer stops.
func (p *policy) answer(w *world, m posted, h heard, code int) {
	o := simOrigin(m.ConnectionID)
	name, reason, lasts := holdName{}, strconv.Itoa(code), h.wait
	switch {
	case h.wait > 2*time.Second: // a shorter Retry-After holds nothing
		name = holdName{campaign.HoldConnection, m.ConnectionID}
		if code == 429 {
			reason = "rate_limited"
		}
	case h.kind == "number":
		name = holdName{campaign.HoldConnection, m.ConnectionID}
	case h.kind == "template":
		name = holdName{campaign.HoldTemplate, campaign.TemplateID(o.Account, m.Template.Name, "en_US")}
	case h.kind == "account":
		name, reason = holdName{campaign.HoldCompany, o.Company}, "account_deactivated"
	case h.kind == "allowance":
		name, reason, lasts = holdName{campaign.HoldCompany, o.Company}, "plan_limit_messages", time.Hour
	default:
		return
	}
	if h.wait == 0 || code != 429 {
		p.asked[fmt.Sprint(name.scope, " ", name.id, " ", reason)] = true
	} else {
		p.asked[fmt.Sprint(name.scope, " ", name.id, " throttled")] = true
	}
	if !h.posted.After(p.lifted[name]) {
		return // the operator knew more
	}
	old := p.holds[name]
	if old == nil || !old.inForce(h.at) {
		old = &holding{why: h.kind + " " + reason, from: h.at, until: h.at}
		p.holds[name] = old
		w.counts["held: "+h.kind]++
	}
	old.said = h.at
	switch {
	case lasts == 0:
		old.until = time.Time{}
	case !old.until.IsZero() && h.at.Add(lasts).Sub(old.until) > extends:
		old.until = h.at.Add(lasts)
	}
}

// lifts says that an operator or an event is about to lift the holds of a name.
func (p *policy) lifts(name holdName) {
	delete(p.holds, name)
	delete(p.perhaps, name)
	p.lifted[name] = time.Now()
}

// extends is by how much an answer must prolong a hold, so that it certainly counts: the sender
// takes 100 ms, and hears an answer up to some milliseconds later than the judge.
const extends = 105 * time.Millisecond

// written is how long an answer may take to become a durable hold.
const written = 300 * time.Millisecond

// die notes the end of a process.
func (p *policy) die(w *world) {
	w.mu.Lock()
	p.died = time.Now()
	w.mu.Unlock()
}

// survive forgets what a process may not have written when it died. The caller holds the lock.
func (p *policy) survive() {
	for name, h := range p.holds {
		if p.died.Sub(h.said) < written {
			delete(p.holds, name)
			p.perhaps[name] = true
		}
	}
	for c, b := range p.breakers {
		if b.opened.IsZero() || p.died.Sub(b.opened) < written {
			delete(p.breakers, c)
			p.perhaps[holdName{campaign.HoldConnection, c}] = true
		}
		b.last = nil
	}
}

// breaker is what the answers say of a connection's breaker.
type breaker struct {
	changed time.Time // when it opened or closed last; answers to posts of before say nothing
	opened  time.Time // zero: closed
	tests   int       // posts since then
	last    []bool    // of the last 25 answers: whether they prove nothing
}

func (b *breaker) unproven() (n int) {
	for _, is := range b.last {
		if is {
			n++
		}
	}
	return n
}

// prove notes what an answer proves of the connection.
func (p *policy) prove(w *world, c string, h heard) {
	b := p.breakers[c]
	if b == nil {
		b = &breaker{}
		p.breakers[c] = b
	}
	switch {
	case h.posted.Before(b.changed):
	case !b.opened.IsZero():
		if h.kind != "doubt" {
			b.opened, b.changed = time.Time{}, h.at
		}
	default:
		b.last = append(b.last[max(0, len(b.last)-24):], h.kind == "doubt")
		if b.unproven() == 20 {
			b.opened, b.changed, b.tests, b.last = h.at, h.at, 0, nil
			w.counts["breaker opened"]++
			p.asked[fmt.Sprint(campaign.HoldConnection, " ", c, " breaker")] = true
		}
	}
}

// test compares a post of a connection whose breaker is open: three for each rest, the shortest of
// which is 5 s.
func (p *policy) test(w *world, c string, now time.Time) {
	b := p.breakers[c]
	if b == nil || b.opened.IsZero() || now.Sub(b.opened) <= stopped {
		return
	}
	w.counts["breaker tested"]++
	b.tests++
	if most := 3 * (1 + int(now.Sub(b.opened)/(5*time.Second))); b.tests > most {
		w.worse("%s posted %d times in %v after its breaker had opened, want at most %d", c, b.tests, now.Sub(b.opened), most)
	}
}

// operate is the operator who looks at the holds every other second. Each must be one that an
// answer asked for. The operator lifts what does not end by itself within a quarter of an hour.
func (w *world) operate(ctx context.Context, seen map[string]time.Time) error {
	all, err := w.desk.Holds(ctx, false)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, h := range all {
		key := fmt.Sprint(h.Scope, " ", h.ID, " ", h.Reason)
		w.mu.Lock()
		w.policy.stored[holdName{h.Scope, h.ID}] = now
		known := w.policy.asked[key] || h.Source == campaign.HoldByEvent ||
			h.Source == campaign.HoldByRefusal && w.policy.asked[fmt.Sprint(h.Scope, " ", h.ID, " throttled")]
		if !known {
			w.worse("%s is held, and no answer asked for that: %s", key, h.Detail)
		}
		w.mu.Unlock()
		if seen[key].IsZero() {
			seen[key] = now
			w.count("hold of a " + string(h.Scope))
		}
		ends := !h.Until.IsZero() && h.Until.Sub(now) < 15*time.Minute
		if ends || h.Source == campaign.HoldByBreaker || h.Source == campaign.HoldByEvent || now.Sub(seen[key]) < pauseLasts {
			continue
		}
		delete(seen, key)
		w.mu.Lock()
		w.policy.lifts(holdName{h.Scope, h.ID})
		w.mu.Unlock()
		w.count("people: lift a hold")
		w.note("people: lift "+key, nil)
		if _, err := w.desk.LiftHolds(ctx, []campaign.Lift{{Scope: h.Scope, ID: h.ID, At: time.Now(), By: campaign.HoldByOperator}}); err != nil {
			return err
		}
	}
	return nil
}
