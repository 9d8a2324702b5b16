package sender

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
)

// A round is one transaction of intents for several numbers: the number whose queue ran low begins it, and those
// that have room for half a group are asked to come along. A commit costs the ledger the same for one number or for ten.
type round struct {
	asks  []*ask
	most  int           // how many numbers may come
	rows  int           // deliveries so far
	full  chan struct{} // closed when nobody else is waited for
	ended chan struct{} // closed when it is committed, or is not
	err   error
}

// ask is what one number asks for in a round.
type ask struct {
	connection string
	intents    []campaign.Intent
	granted    []campaign.Granted
}

const (
	// gather is how long a round waits for those who were asked; they answer from memory, unless they must read on.
	gather = time.Millisecond
	// roundMost is how many deliveries are enough for a transaction: 16 full groups.
	roundMost = 4096
)

// rounds are the intents of an engine on their way to the ledger.
type rounds struct {
	mu   sync.Mutex
	open *round // may still be joined; nil: none
}

// join adds a to the open round, or to a new one that most numbers may join. It reports whether that is new.
func (s *rounds) join(a *ask, most int) (r *round, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = s.open == nil; first {
		s.open = &round{most: most, full: make(chan struct{}), ended: make(chan struct{})}
	}
	r = s.open
	r.asks = append(r.asks, a)
	for _, in := range a.intents {
		r.rows += int(in.To-in.From) + len(in.Retries)
	}
	if len(r.asks) >= r.most || r.rows >= roundMost {
		s.open = nil
		close(r.full)
	}
	return r, first
}

// joinable reports whether a round is open.
func (s *rounds) joinable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open != nil
}

// shut ends the joining of r.
func (s *rounds) shut(r *round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == r {
		s.open = nil
	}
}

// together commits the intents of p, in one transaction with those of other numbers that have room now.
func (e *Engine) together(ctx context.Context, p *planner, intents []campaign.Intent) ([]campaign.Granted, error) {
	others := e.withRoom(p)
	a := &ask{connection: p.number.connection, intents: intents}
	r, first := e.rounds.join(a, 1+len(others))
	if !first {
		<-r.ended
		e.calm(ctx, p.number.connection+" granted", nil)
		return a.granted, r.err
	}
	for _, o := range others {
		o.poke.send()
	}
	select {
	case <-r.full:
	default:
		t := time.NewTimer(p.number.jitter("gather", gather))
		select {
		case <-r.full:
		case <-t.C:
		case <-ctx.Done(): // nothing is asked for any more
		}
		t.Stop()
		e.rounds.shut(r)
	}
	r.commit(ctx, e.ledger)
	close(r.ended)
	return a.granted, r.err
}

// commit asks the ledger and hands out its answers. Nobody joins any more.
func (r *round) commit(ctx context.Context, l Ledger) {
	slices.SortFunc(r.asks, func(a, b *ask) int { return strings.Compare(a.connection, b.connection) })
	var all []campaign.Intent
	for _, a := range r.asks {
		all = append(all, a.intents...)
	}
	granted, err := l.Intend(ctx, all)
	if err != nil {
		r.err = err
		return
	}
	for _, a := range r.asks {
		a.granted, granted = granted[:len(a.intents)], granted[len(a.intents):]
	}
}

// withRoom are the other numbers that have something to send and room for half a group.
func (e *Engine) withRoom(p *planner) (all []*planner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.workers {
		if o.planner != p && o.planner.hungry() {
			all = append(all, o.planner)
		}
	}
	return all
}

// hungry reports whether p had something to send at its last step, and has room for half a group.
func (p *planner) hungry() bool {
	group := p.group(p.number.pace())
	if 2*group-p.queue.free() < half(group) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, busy := range p.working {
		if busy {
			return true
		}
	}
	return false
}

// half is how much room is enough to come along in a round of another number.
func half(group int) int { return (group + 1) / 2 }
