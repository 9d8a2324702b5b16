package webhooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"campaignd/campaign"
)

// Run commits what ServeHTTP queues and sweeps orphans, until ctx ends; then it commits what
// waits, for at most Options.Drain, and returns. Stop the HTTP server's listener first: whoever comes after ctx has ended
// gets a 503. Run may be called once. An error means that requests were left
// unanswered; the service repeats them.
func (i *Intake) Run(ctx context.Context) error {
	if !i.running.CompareAndSwap(false, true) {
		return errors.New("webhooks: Run was called before")
	}
	var sweeper sync.WaitGroup
	sweeper.Go(func() { i.sweepUntil(ctx) })
	defer sweeper.Wait()
	defer close(i.stopped)

	// From here on new requests are turned away, also while a slow commit is under way.
	defer context.AfterFunc(ctx, func() { i.closing.Store(true) })()

	writer := writer{Intake: i}
	// The end of ctx must not undo a commit that is under way: somebody waits for it. Each has its own deadline.
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

// writer is the one goroutine that commits: SQLite has one writer anyway, and for PostgreSQL one is
// enough (reliability.md 6.6).
type writer struct {
	*Intake
	letters []*letter
	failing bool
}

// drain commits what waits now: events that were received are better stored than asked for again.
func (w *writer) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.o.Drain)
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
				return fmt.Errorf("webhooks: %d events were not stored within %v of stopping; the service will repeat them", left, w.o.Drain)
			}
			return nil
		}
	}
}

// commit stores first and whatever has gathered behind it in one transaction, and answers them all.
func (w *writer) commit(ctx context.Context, first *letter) {
	facts, events := first.facts, first.events
	w.letters = append(w.letters[:0], first)
gather:
	for events < w.o.Group {
		select {
		case next := <-w.queue:
			if len(w.letters) == 1 { // own the slices before anything is added to them
				facts = campaign.Events{}
				merge(&facts, first.facts)
			}
			merge(&facts, next.facts)
			events += next.events
			w.letters = append(w.letters, next)
		default:
			break gather
		}
	}
	settle(&facts)

	began := time.Now()
	applying, cancel := context.WithTimeout(ctx, w.o.Commit)
	applied, err := w.ledger.Apply(applying, facts)
	cancel()
	took := time.Since(began)

	w.waiting.Add(-int64(events))
	w.counters.committed(events, took, applied, err)
	if w.o.OnCommit != nil {
		w.o.OnCommit(events, took, err)
	}
	for n, l := range w.letters {
		l.answer <- err
		w.letters[n] = nil
	}
	if failing := err != nil; failing != w.failing {
		w.failing = failing
		if failing {
			w.o.Log.Error("webhooks cannot be stored; answered 503 until they can", "error", err, "events", events)
		} else {
			w.o.Log.Info("webhooks are stored again")
		}
	}
}
