package sender

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

const (
	// holdsEvery is how often the ledger's holds are read.
	holdsEvery = time.Second
	// holdsLinger is how long a change waits for others before it is written: many requests under way
	// get the same refusal.
	holdsLinger = 50 * time.Millisecond
	// shortHold is the length below which a hold stays in this process: it would end before the others
	// read it. Granted attempts stay queued meanwhile.
	shortHold = time.Second
	// holdExtends is by how much an answer must prolong a known hold to have an effect.
	holdExtends = 100 * time.Millisecond
)

// holds are the holds that this process knows (docs/protocol.md#holds): those of the ledger, read
// at most a second ago, and those that its own answers have begun since. It is safe for concurrent
// use.
type holds struct {
	o      Options
	ledger campaign.HoldLedger
	tell   func() // called after each change
	wake   signal // a change waits to be written
	now    atomic.Pointer[snapshot]

	turn    chan struct{} // a lock: one goroutine at a time writes and reads the ledger's holds
	failing string        // why the ledger does not answer; "": it does. turn guards it

	mu      sync.Mutex
	stored  []campaign.Hold // the last reading, with the changes that were written since
	short   []campaign.Hold // never written
	pending changes
	writing changes // on their way to the ledger
}

// changes are holds and lifts that the ledger does not have yet.
type changes struct {
	reports []campaign.Hold
	holds   []campaign.Hold // the known holds, merged with the reports
	lifts   []campaign.Lift
}

// snapshot is a list of holds that does not change.
type snapshot struct {
	all []campaign.Hold

	mu sync.Mutex
	of map[campaign.Origin][]campaign.Hold // the holds that stop an origin when in force; filled when asked for
}

func newHolds(l campaign.HoldLedger, o Options, tell func()) *holds {
	h := &holds{o: o, ledger: l, tell: tell, wake: newSignal(), turn: make(chan struct{}, 1)}
	h.now.Store(&snapshot{})
	return h
}

// none reports whether nothing is held.
func (h *holds) none() bool { return len(h.now.Load().all) == 0 }

// naming returns the holds that stop the origin when they are in force (Hold.Stops).
func (s *snapshot) naming(o campaign.Origin) []campaign.Hold {
	if len(s.all) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.of[o]
	if !known {
		for _, h := range s.all {
			if h.Stops(o) {
				found = append(found, h)
			}
		}
		if s.of == nil {
			s.of = map[campaign.Origin][]campaign.Hold{}
		}
		s.of[o] = found
	}
	return found
}

// by returns the hold that stops the origin longest; false: none does.
func (h *holds) by(o campaign.Origin, now time.Time) (campaign.Hold, bool) {
	return campaign.HeldBy(h.now.Load().naming(o), o, now)
}

// breaker returns the hold of the breaker of a connection. Its Source is "" while the breaker is
// closed.
func (h *holds) breaker(connection string) campaign.Hold {
	for _, one := range h.now.Load().all {
		if one.Source == campaign.HoldByBreaker && one.Scope == campaign.HoldConnection && one.ID == connection && one.Lifted.IsZero() {
			return one
		}
	}
	return campaign.Hold{}
}

// add notes a hold that an answer or a breaker began. In this process it is in force at once.
func (h *holds) add(one campaign.Hold, now time.Time) {
	if !one.Until.IsZero() { // a ledger keeps milliseconds: the end is rounded up
		one.Until = one.Until.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	}
	h.mu.Lock()
	old := h.find(h.now.Load().all, one)
	switch {
	case covers(old, one, now, holdExtends):
		h.mu.Unlock()
		return
	case !one.Until.IsZero() && one.Until.Sub(now) < shortHold:
		h.short = put(h.short, one)
	default:
		h.pending.reports = put(h.pending.reports, one)
		one, _ = old.Renew(one, campaign.LastLifts{}, now)
		h.pending.holds = put(h.pending.holds, one)
		h.wake.send()
	}
	h.publish(now)
	h.mu.Unlock()
	h.tell()
}

// lift ends the holds that l ends.
func (h *holds) lift(l campaign.Lift) {
	h.mu.Lock()
	h.pending.reports = changes{lifts: []campaign.Lift{l}}.after(h.pending.reports) // lifts are written first
	h.pending.holds = changes{lifts: []campaign.Lift{l}}.after(h.pending.holds)
	h.pending.lifts = append(h.pending.lifts, l)
	h.wake.send()
	h.publish(l.At)
	h.mu.Unlock()
	h.tell()
}

// learn notes a hold of the ledger that is newer than the last reading.
func (h *holds) learn(one campaign.Hold, now time.Time) {
	h.mu.Lock()
	h.stored = put(h.stored, one)
	h.publish(now)
	h.mu.Unlock()
	h.tell()
}

// covers reports whether the known hold old is in force, and next does not prolong it by more than
// d.
func covers(old, next campaign.Hold, now time.Time, d time.Duration) bool {
	if old.Scope == "" || !old.InForce(now) {
		return false
	}
	return next.Source == campaign.HoldByBreaker || old.Until.IsZero() || !next.Until.IsZero() && next.Until.Sub(old.Until) <= d
}

func sameHold(a, b campaign.Hold) bool {
	return a.Scope == b.Scope && a.ID == b.ID && a.Reason == b.Reason
}

// put returns a list in which one replaces the same hold, or is added.
func put(all []campaign.Hold, one campaign.Hold) []campaign.Hold {
	if i := slices.IndexFunc(all, func(h campaign.Hold) bool { return sameHold(h, one) }); i >= 0 {
		all = slices.Clone(all)
		all[i] = one
		return all
	}
	return append(slices.Clip(all), one)
}

func (h *holds) find(all []campaign.Hold, one campaign.Hold) campaign.Hold {
	for _, old := range all {
		if sameHold(old, one) {
			return old
		}
	}
	return campaign.Hold{}
}

// after returns the holds that remain of all after the changes.
func (c changes) after(all []campaign.Hold) []campaign.Hold {
	all = slices.DeleteFunc(slices.Clone(all), func(h campaign.Hold) bool {
		return slices.ContainsFunc(c.lifts, func(l campaign.Lift) bool { return l.Ends(h) })
	})
	for _, one := range c.holds {
		all = put(all, one)
	}
	return all
}

// publish makes a new snapshot, and reports whether it differs from the one before. The caller
// holds the lock.
func (h *holds) publish(now time.Time) bool {
	h.short = slices.DeleteFunc(h.short, func(one campaign.Hold) bool { return !one.InForce(now) })
	all := h.pending.after(h.writing.after(h.stored))
	for _, one := range h.short {
		if old := h.find(all, one); !covers(old, one, now, 0) {
			all = put(all, one)
		}
	}
	old := h.now.Load()
	h.now.Store(&snapshot{all: all})
	return !slices.Equal(old.all, all)
}

// run reads the holds once a second, and writes changes soon, until ctx ends.
func (h *holds) run(ctx context.Context, facts context.Context) {
	for ctx.Err() == nil {
		t := time.NewTimer(h.o.Jitter("holds", holdsEvery))
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-h.wake:
			t.Reset(h.o.Jitter("holds changed", holdsLinger))
			select {
			case <-ctx.Done():
			case <-t.C:
			}
		}
		t.Stop()
		if ctx.Err() == nil {
			_ = h.refresh(facts) // it has logged its error, and the next reading tries again
		}
	}
}

// refresh writes what is pending and reads the holds. A change that cannot be written is written
// with the next reading. It returns the error of the ledger.
func (h *holds) refresh(ctx context.Context) error {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := h.write(ctx)
	if err == nil {
		var read []campaign.Hold
		if read, err = h.ledger.Holds(ctx, false); err == nil {
			h.mu.Lock()
			h.stored = read
			changed := h.publish(time.Now())
			h.mu.Unlock()
			if changed {
				h.tell()
			}
			h.o.Held(ctx, read)
		}
	}
	h.said(ctx, err)
	return err
}

// flush tries once to write the pending changes.
func (h *holds) flush(ctx context.Context) {
	h.turn <- struct{}{} // waits until another goroutine has written
	defer func() { <-h.turn }()
	h.mu.Lock()
	none := len(h.pending.reports)+len(h.pending.lifts) == 0
	h.mu.Unlock()
	if none {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, handBackTime)
	defer cancel()
	if err := h.write(ctx); err != nil {
		h.o.Log.Warn("holds not written: the next refusal writes them", "err", err)
	}
}

// said logs an outage of the ledger once, and its end.
func (h *holds) said(ctx context.Context, err error) {
	switch {
	case err == nil && h.failing != "":
		h.failing = ""
		h.o.Log.Info("holds can be read and written again")
	case err != nil && ctx.Err() == nil && cause(err) != h.failing && !errors.Is(err, campaign.ErrUnwritable):
		h.failing = cause(err)
		h.o.Log.Error("holds cannot be read or written: the known ones are obeyed", "err", err)
	}
}

// write stores the pending changes. Lifts come first: a breaker that trips again trips after its
// last lift.
func (h *holds) write(ctx context.Context) error {
	h.mu.Lock()
	h.writing, h.pending = h.pending, changes{}
	w := h.writing
	h.mu.Unlock()
	var began, ended []campaign.Hold
	var err error
	if len(w.lifts) > 0 {
		if ended, err = h.ledger.LiftHolds(ctx, w.lifts); err == nil {
			w.lifts = nil
			h.mu.Lock()
			h.stored = changes{lifts: h.writing.lifts}.after(h.stored)
			h.mu.Unlock()
		}
	}
	if err == nil && len(w.reports) > 0 {
		began, err = h.ledger.AddHolds(ctx, w.reports)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil { // they are pending again; changes that came meanwhile are newer
		newer := h.pending
		h.pending = changes{
			reports: changes{holds: newer.reports, lifts: newer.lifts}.after(w.reports),
			holds:   newer.after(w.holds),
			lifts:   append(w.lifts, newer.lifts...),
		}
	} else {
		h.stored = h.writing.after(h.stored)
	}
	h.writing = changes{}
	for _, one := range ended {
		h.o.Log.Debug("hold ended", "hold", wording.Hold(one, time.Now()))
	}
	for _, one := range began {
		h.o.Log.Debug("hold began", "hold", wording.Hold(one, time.Now()))
	}
	return err
}
