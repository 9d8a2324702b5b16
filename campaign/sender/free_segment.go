package sender

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// A number with enough segments claims no segment that has had no owner. It still claims up to 8
// begun segments, so that the segments of two dead replicas do not wait. The engine asks the ledger
// for begun segments once a second, for all of its numbers together.
const (
	begunEvery = time.Second
	begunMost  = 8
)

// freeSegments are the segments that were free when the ledger was asked: each kind once. A run for
// which it was not asked is no key.
type freeSegments struct {
	readAt time.Time
	kinds  map[campaign.RunNo][]campaign.FreeSegment
}

func newFreeSegments(readAt time.Time, asked []campaign.RunNo, kinds ...campaign.FreeSegment) *freeSegments {
	f := &freeSegments{readAt: readAt, kinds: make(map[campaign.RunNo][]campaign.FreeSegment, len(asked))}
	for _, no := range asked {
		f.kinds[no] = nil
	}
	for _, k := range kinds {
		f.kinds[k.Run] = append(f.kinds[k.Run], k)
	}
	return f
}

// of reports whether a run has a segment that the connection can claim, and whether it has a
// segment that no other connection can claim (own).
func (f *freeSegments) of(no campaign.RunNo, connection string) (free, own bool) {
	for _, k := range f.kinds[no] {
		own = own || k.Connection == connection
		free = free || own || k.Connection == ""
	}
	return free, own
}

// mayHave reports whether a claim for the connection may find a segment of the run.
func (f *freeSegments) mayHave(no campaign.RunNo, connection string) bool {
	if _, asked := f.kinds[no]; !asked {
		return true
	}
	free, _ := f.of(no, connection)
	return free
}

// begun are the free segments that had an owner.
func (f *freeSegments) begun() *freeSegments {
	b := newFreeSegments(f.readAt, nil)
	for no, kinds := range f.kinds {
		for _, k := range kinds {
			if k.Begun {
				b.kinds[no] = append(b.kinds[no], k)
			}
		}
	}
	return b
}

// freeReader reads the free segments of all active runs. All numbers of the process share each
// reading for a tick, and so does the search for begun segments: a claim names no run that has
// nothing for its number. The ledger
// looks at each run that a claim names, within a write transaction on SQLite.
type freeReader struct {
	mu      sync.Mutex // held while the ledger is asked
	last    *freeSegments
	change  int64 // value of changes when last was asked for
	changes atomic.Int64
}

// changed makes the next claim read again: this process has freed a segment.
func (f *freeReader) changed() { f.changes.Add(1) }

// freeNow returns the free segments as they were a tick ago or later, but for runs that are newer.
// asked means that the ledger answered now.
func (e *Engine) freeNow(ctx context.Context, now time.Time) (free *freeSegments, asked bool, err error) {
	f := &e.free
	f.mu.Lock()
	defer f.mu.Unlock()
	change := f.changes.Load()
	if f.last != nil && f.change == change && now.Sub(f.last.readAt) < e.o.Tick {
		return f.last, false, nil
	}
	nos := e.activeRuns()
	kinds, err := e.ledger.FreeSegments(ctx, nos)
	if err != nil {
		return nil, false, err
	}
	f.last, f.change = newFreeSegments(now, nos, kinds...), change
	return f.last, true, nil
}

// activeRuns are the numbers of the active runs, in order.
func (e *Engine) activeRuns() []campaign.RunNo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.runs))
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
	if len(e.activeRuns()) == 0 {
		return
	}
	free, _, err := e.freeNow(ctx, time.Now())
	if err != nil {
		return
	}
	begun := free.begun()
	e.begun.Store(begun)
	if len(begun.kinds) > 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, w := range e.workers {
			w.planner.poke.send()
		}
	}
}
