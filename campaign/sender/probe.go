package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
)

// probeAgain is how often a half-open breaker is looked at: whether another request may test it.
const probeAgain = 100 * time.Millisecond

// probeAsk is how often a replica asks for the right to test a half-open breaker.
const probeAsk = time.Second

// probe gets the right to test the half-open breaker of the number, or gives it back. One replica
// at a time has it, under the job lease probe/CONNECTION. It reports whether this one has it.
func (p *planner) probe(ctx context.Context, now time.Time, state circuitState) (bool, error) {
	if state != halfOpen {
		p.endProbe(ctx)
		return false, nil
	}
	if now.Before(p.tests.Until) {
		return true, nil
	}
	if now.Sub(p.testsAsked) < probeAsk || !p.hasSendable(now) {
		return false, nil
	}
	p.testsAsked = now
	// A test takes Options.Request at most. 5s: the time to its beginning.
	l, ok, err := p.e.ledger.AcquireJob(ctx, "probe/"+p.number.connection, p.e.o.Owner, p.e.o.Request+5*time.Second)
	if err != nil {
		return false, fmt.Errorf("ask for the right to test %s: %w", p.number.connection, err)
	}
	if !ok {
		return false, nil
	}
	p.tests = l
	// The last reading may be a second old: another replica's test may have failed meanwhile.
	unread := p.e.holds.refresh(ctx) != nil // it has logged its error
	if state, _ := p.e.holds.circuit(p.number.connection, time.Now()); unread || state != halfOpen {
		p.endProbe(ctx)
		return false, nil //nolint:nilerr // refresh tells of its error, once an outage
	}
	p.number.probing.Store(l.Until.Add(-p.e.o.Request).UnixNano())
	return true, nil
}

// endProbe gives back the right to test the breaker, once the ledger has what came of the test.
func (p *planner) endProbe(ctx context.Context) {
	if p.tests.Name == "" {
		return
	}
	p.number.probing.Store(0)
	p.e.holds.flush(ctx)
	if err := p.e.ledger.ReleaseJob(ctx, p.tests); err != nil && ctx.Err() == nil {
		p.e.o.Log.Debug("right to test not given back: it must run out", "connection", p.number.connection, "err", err)
	}
	p.tests = campaign.JobLease{}
}

// hasSendable reports whether a run that nothing holds has something to post now.
func (p *planner) hasSendable(now time.Time) bool {
	for _, r := range p.activeRuns() {
		if !p.standsStill(r, now) && p.canSend(r, now) {
			return true
		}
	}
	return false
}

// standsStill reports whether no intent of the run is to be asked for now: it is paused, ends,
// waits for a limit, or is held.
func (p *planner) standsStill(r *run, now time.Time) bool {
	if r.held.Load() || r.over() || p.waitsFor(r, now).By != "" {
		return true
	}
	_, held := p.heldBy(r, now)
	return held
}

// heldBy returns the hold that stops the run's messages over this connection; false: none does.
func (p *planner) heldBy(r *run, now time.Time) (campaign.Hold, bool) {
	return p.e.holds.by(p.e.origin(p.number.connection, r), now)
}

// heldLong reports whether a hold stops the run's messages for longer than a second: what was
// granted goes back, and is checked again by its next intent.
func (p *planner) heldLong(r *run, now time.Time) bool {
	h, held := p.heldBy(r, now)
	return held && (h.Until.IsZero() || h.Until.Sub(now) > shortHold) && !mutant.On("granted_kept")
}
