package sender

import (
	"context"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
)

// A number with enough segments claims no segment that has had no owner. It still claims up to 8
// begun segments, so that those of two dead replicas do not wait. The engine asks the ledger for
// begun segments once a second, for all of its numbers together.
const (
	begunEvery = time.Second
	begunMost  = 8
)

// begunSegments are the begun segments that were free when the ledger was asked.
type begunSegments struct {
	readAt time.Time
	free   []campaign.BegunSegment
}

// of reports whether a run has a segment that the connection can claim, and whether it has a
// segment that no other connection can claim (own).
func (b *begunSegments) of(no campaign.RunNo, connection string) (free, own bool) {
	own = slices.Contains(b.free, campaign.BegunSegment{Run: no, Connection: connection})
	return own || slices.Contains(b.free, campaign.BegunSegment{Run: no}), own
}

// watchBegun reads, until ctx ends, the begun segments of the runs that are sent, and wakes the
// planners when it finds some. It does not wait for the loop of the engine, which may be busy.
func (e *Engine) watchBegun(ctx context.Context) {
	for ctx.Err() == nil {
		e.readBegun(ctx)
		sleep(ctx, e.o.Jitter("begun", begunEvery))
	}
}

// readBegun asks once. If the ledger does not answer, the last answer stays; the loop of the
// engine, which asks for the runs as often, logs the outage.
func (e *Engine) readBegun(ctx context.Context) {
	e.mu.Lock()
	nos := slices.Sorted(maps.Keys(e.runs))
	e.mu.Unlock()
	if len(nos) == 0 {
		return
	}
	now := time.Now()
	free, err := e.ledger.FreeBegun(ctx, nos)
	if err != nil {
		return
	}
	e.begun.Store(&begunSegments{readAt: now, free: free})
	if len(free) > 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, w := range e.workers {
			w.planner.poke.send()
		}
	}
}
