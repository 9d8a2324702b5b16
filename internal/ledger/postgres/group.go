package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
)

// Group commit of intents. Each number of a process calls Intend on its own, some 20 times a
// second. A transaction costs the server the same for one number as for ten, so calls that come at
// about the same time share one. Numbers that shared a transaction ask for the next one at about
// the same time too, so they go on sharing.
const (
	// groupLinger is how long the first call waits for the others. A number asks 50 ms before its
	// deliveries run out, so the wait delays no message.
	groupLinger = 10 * time.Millisecond
	// groupRecent is how recently a connection must have called for the group to wait for it. A
	// connection that sends calls more often: one whose rate four replicas share calls four times a
	// second. A process with one number never waits.
	groupRecent = time.Second
	// groupRows is how many deliveries are enough for a transaction: 16 full groups of the sender.
	groupRows = 4096
)

// intentCall is one call of Intend in a group.
type intentCall struct {
	in      []campaign.Intent
	granted []campaign.Granted
	err     error
}

// intentGroup is the calls that one transaction commits.
type intentGroup struct {
	calls []*intentCall
	from  map[string]bool // their connections
	rows  int             // their deliveries
	full  chan struct{}   // closed when the group waits for no other call
	done  chan struct{}   // closed when each call has its answer
}

// intentGroups gathers calls of Intend into groups.
type intentGroups struct {
	mu    sync.Mutex
	open  *intentGroup         // may still be joined; nil: none
	asked map[string]time.Time // when each connection asked last
}

// Intend implements campaign.SendLedger. Calls that come within groupLinger share one transaction.
// A call whose intents are refused as malformed fails alone. A call whose context ends while its
// group is open leaves the group. Once the group is closed, it waits for the answer, so that the
// caller knows whether its intents were committed.
func (l *Ledger) Intend(ctx context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	if len(in) == 0 {
		return nil, nil
	}
	c := &intentCall{in: in}
	g, first := l.groups.join(c, time.Now())
	if first {
		defer close(g.done)
		l.groups.linger(ctx, g)
		l.commitGroup(ctx, g.calls)
		return c.granted, c.err
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		if l.groups.leave(g, c) {
			return nil, ctx.Err()
		}
		<-g.done
	}
	return c.granted, c.err
}

// join adds a call to the open group, or to a new one. It reports whether the group is new.
func (s *intentGroups) join(c *intentCall, now time.Time) (g *intentGroup, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]time.Time{}
	}
	if first = s.open == nil; first {
		s.open = &intentGroup{from: map[string]bool{}, full: make(chan struct{}), done: make(chan struct{})}
	}
	g = s.open
	g.calls = append(g.calls, c)
	for _, in := range c.in {
		g.from[in.Connection], s.asked[in.Connection] = true, now
		g.rows += int(in.To-in.From) + len(in.Retries)
	}
	for connection, at := range s.asked {
		if now.Sub(at) > groupRecent {
			delete(s.asked, connection)
		}
	}
	if g.rows >= groupRows || len(g.from) == len(s.asked) {
		s.open = nil
		close(g.full)
	}
	return g, first
}

// linger waits until the group is full, for groupLinger, or until ctx ends; nobody joins it then.
func (s *intentGroups) linger(ctx context.Context, g *intentGroup) {
	t := time.NewTimer(groupLinger)
	defer t.Stop()
	select {
	case <-g.full:
		return
	case <-t.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == g {
		s.open = nil
	}
}

// leave takes a call out of its group; false when the group is being committed.
func (s *intentGroups) leave(g *intentGroup, c *intentCall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != g {
		return false
	}
	g.calls = slices.DeleteFunc(g.calls, func(other *intentCall) bool { return other == c })
	return true
}

// commitGroup commits the intents of all calls in one transaction and gives each its answers. A
// call whose intent is malformed gets the error, and the transaction runs again without it.
func (l *Ledger) commitGroup(ctx context.Context, calls []*intentCall) {
	if len(calls) > 1 { // one caller's context must not end the others' calls; callTime limits them
		ctx = context.WithoutCancel(ctx)
	}
	for len(calls) > 0 {
		var all []campaign.Intent
		for _, c := range calls {
			all = append(all, c.in...)
		}
		granted, err := l.commitIntents(ctx, all)
		var bad *malformedIntent
		if errors.As(err, &bad) && len(calls) > 1 {
			n := bad.n
			calls = slices.Clone(calls)
			for i, c := range calls {
				if n < len(c.in) {
					c.err = err
					calls = slices.Delete(calls, i, i+1)
					break
				}
				n -= len(c.in)
			}
			continue
		}
		for _, c := range calls {
			if c.err = err; err == nil {
				n := len(c.in)
				c.granted, granted = granted[:n:n], granted[n:]
			}
		}
		return
	}
}

// malformedIntent says that the n-th intent of a transaction can never be granted. Nothing was
// written.
type malformedIntent struct {
	n   int
	err error
}

func (e *malformedIntent) Error() string { return e.err.Error() }

func (e *malformedIntent) Unwrap() error { return e.err }
