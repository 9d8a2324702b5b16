package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
)

// probeAgain is how often a half-open breaker is looked at: whether another request may test it.
const probeAgain = 100 * time.Millisecond

// probeAsk is how often a replica asks for the right to test a half-open breaker.
const probeAsk = time.Second

// breakerTest is a replica's right to test the half-open breaker of a number: the job lease
// probe/CONNECTION, which one replica at a time has. The lease of a hold that is tried is of the
// hold, so that the connections of a held account try one row together.
type breakerTest struct {
	e      *Engine
	number *number
	right  campaign.JobLease // its Name is "" without it
	asked  time.Time         // when it was last asked for
}

// probeRight is a right as the poster sees it.
type probeRight struct {
	name  string
	until time.Time // no test may begin later
}

// probeName names the right to test the hold b of a connection.
func probeName(connection string, b campaign.Hold) string {
	if b.Tried() {
		return "probe/" + string(b.Scope) + "/" + b.ID
	}
	return "probe/" + connection
}

// probe gets the right to test the half-open breaker of the number, or gives it back. It reports
// whether this replica has it. b is the hold that the state is of.
func (p *planner) probe(ctx context.Context, now time.Time, state circuitState, b campaign.Hold) (bool, error) {
	name := probeName(p.number.connection, b)
	if state != halfOpen || p.test.right.Name != "" && p.test.right.Name != name {
		p.test.end(ctx)
	}
	switch {
	case state != halfOpen:
		return false, nil
	case now.Before(p.test.right.Until):
		return true, nil
	case now.Sub(p.test.asked) < probeAsk || !p.hasSendable(now):
		return false, nil
	}
	return p.test.begin(ctx, now, name)
}

// begin asks for the right. It reports whether this replica got it and the breaker is half-open.
func (t *breakerTest) begin(ctx context.Context, now time.Time, name string) (bool, error) {
	t.asked = now
	// A test takes Options.Request at most. 5s: the time to its beginning.
	l, ok, err := t.e.ledger.AcquireJob(ctx, name, t.e.o.Owner, t.e.o.Request+5*time.Second)
	if err != nil {
		return false, fmt.Errorf("ask for the right to test %s: %w", t.number.connection, err)
	}
	if !ok {
		return false, nil
	}
	t.right = l
	// The last reading may be a second old: another replica's test may have failed meanwhile.
	unread := t.e.holds.refresh(ctx) != nil // it has logged its error
	if state, b := t.e.circuit(t.number.connection, time.Now()); unread || state != halfOpen || probeName(t.number.connection, b) != name {
		t.end(ctx)
		return false, nil //nolint:nilerr // refresh tells of its error, once an outage
	}
	t.number.probing.Store(&probeRight{name, l.Until.Add(-t.e.o.Request)})
	return true, nil
}

// end gives back the right, once the ledger has what came of the test.
func (t *breakerTest) end(ctx context.Context) {
	if t.right.Name == "" {
		return
	}
	t.number.probing.Store(nil)
	t.e.holds.flush(ctx)
	_ = t.e.ledger.ReleaseJob(ctx, t.right) // it runs out
	t.right = campaign.JobLease{}
}

// hasSendable reports whether a run that nothing holds has something to post now.
func (p *planner) hasSendable(now time.Time) bool {
	for _, r := range p.activeRuns() {
		if !p.waits.standsStill(r, now) && p.canSend(r, now) {
			return true
		}
	}
	return false
}
