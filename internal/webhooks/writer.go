package webhooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/tracing"
)

// Run commits the requests that ServeHTTP queues, sweeps orphans and records that webhooks are
// taken, until ctx ends. Then it commits the waiting requests, for at most drainTime, and
// returns. Stop the listener of the HTTP server first: a request that comes after ctx has ended
// gets a 503. Run may be called once. An error means that some requests were not committed; the
// service repeats them.
func (i *Intake) Run(ctx context.Context) error {
	if !i.running.CompareAndSwap(false, true) {
		return errors.New("webhooks: Run was called before")
	}
	var beside sync.WaitGroup
	beside.Go(func() { i.sweepUntil(ctx) })
	beside.Go(func() { i.listenUntil(ctx) })
	defer beside.Wait()
	defer close(i.stopped)

	// New requests are rejected as soon as ctx ends, even while a slow commit is under way.
	defer context.AfterFunc(ctx, func() { i.closing.Store(true) })()

	writer := writer{Intake: i}
	// The end of ctx must not undo a commit that is under way, because requests wait for it. Each
	// commit has its own deadline.
	committing := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		select {
		case first := <-i.queue:
			writer.commit(committing, first)
		case <-ctx.Done():
		}
	}
	return writer.drain(committing)
}

// writer belongs to the one goroutine that commits. SQLite has one writer anyway, and one is enough
// for PostgreSQL (docs/protocol.md#webhook-intake).
type writer struct {
	*Intake
	batch   []*queued
	before  int // requests of the commit before
	failing bool
}

// drain commits the requests that wait now, so that the service need not repeat them.
func (w *writer) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.drainTime)
	defer cancel()
	for {
		select {
		case first := <-w.queue:
			w.commit(ctx, first)
		default:
			return nil
		}
		if ctx.Err() != nil {
			if left := w.waiting.Load(); left > 0 {
				return fmt.Errorf("webhooks: %d events were not stored within %v of stopping; the service will repeat them",
					left, w.drainTime)
			}
			return nil
		}
	}
}

// linger is how long a commit waits for as many requests as the commit before had. Callers that
// were answered together post again together, but not at one instant: without the wait the first of
// them has a commit of its own, and the others wait for it.
const linger = time.Millisecond

// gather makes a batch of first and the requests that wait, and returns the number of events of
// all. After a commit of several requests it waits for as many, at most for linger. Without them,
// as of a caller that posts alone, it waits for nothing.
func (w *writer) gather(first *queued) (events int) {
	events = first.events
	w.batch = append(w.batch[:0], first)
	var end <-chan time.Time // nil: it has not waited yet
	for events < w.maxBatch {
		var next *queued
		select {
		case next = <-w.queue:
		default:
			if len(w.batch) >= w.before {
				return events
			}
			if end == nil {
				end = time.After(linger)
			}
			select {
			case next = <-w.queue:
			case <-end:
				return events
			}
		}
		events += next.events
		w.batch = append(w.batch, next)
	}
	return events
}

// facts is the facts of the batch, which has so many events.
func (w *writer) facts(events int) campaign.Events {
	if len(w.batch) == 1 {
		return w.batch[0].facts
	}
	all := campaign.Events{Statuses: make([]campaign.StatusEvent, 0, events)} // nearly all events are statuses
	for _, q := range w.batch {
		merge(&all, q.facts)
	}
	return all
}

// commit stores first and the requests that gather adds in one transaction, and answers them all.
func (w *writer) commit(ctx context.Context, first *queued) {
	events := w.gather(first)
	facts := w.facts(events)
	w.before = len(w.batch)

	applying, cancel := context.WithTimeout(ctx, commitTime)
	applying, span := tracing.Begin(applying, "apply events", tracing.Fact{Key: "campaignd.events", Count: int64(events)})
	var applied campaign.Applied
	holds, err := w.changed(applying)
	if err == nil {
		facts.Holds = append(facts.Holds, holds...)
		applied, err = w.ledger.Apply(applying, facts)
	}
	cancel()
	if err != nil {
		span.End("not_stored")
	} else {
		span.End("")
	}

	w.waiting.Add(-int64(events))
	w.counters.committed(applied, err)
	if err == nil {
		w.pairs.stored(facts.Pairs, time.Now())
	}
	for n, q := range w.batch {
		q.answer <- err
		w.batch[n] = nil
	}
	if failing := err != nil && !errors.Is(err, campaign.ErrUnwritable); failing != w.failing {
		w.failing = failing
		if failing {
			w.o.Log.Error("webhooks cannot be stored; answered 503 until they can", "err", err, "events", events)
		} else {
			w.o.Log.Info("webhooks are stored again")
		}
	}
}
