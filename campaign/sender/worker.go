package sender

import (
	"context"
	"sync"
	"time"
)

// worker sends over one connection: its planner turns segments into attempts, its poster gives each
// attempt the next slot, its renewer keeps the leases.
type worker struct {
	number  *number
	queue   *queue
	planner *planner
	poster  *poster
	renewer *renewer
}

func newWorker(e *Engine, connection string) *worker {
	poke := newSignal()
	w := &worker{number: newNumber(connection, e.o), queue: newQueue(poke)}
	w.renewer = &renewer{e: e, number: w.number, planner: poke}
	w.planner = newPlanner(e, w.number, w.queue, w.renewer, poke)
	w.poster = newPoster(e, w.number, w.queue)
	return w
}

// holdsChanged wakes planner and poster: what was held may not be any more, or the other way round.
func (w *worker) holdsChanged() {
	w.number.circuit.see(w.planner.e.holds.breaker(w.number.connection))
	w.planner.poke.send()
	w.queue.added.send()
	w.poster.inFlight.ended.send()
}

// run plans, posts and renews until ctx ends. Then it waits for the posts in flight and hands its
// segments back with what was not posted.
func (w *worker) run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { w.planner.run(ctx) })
	parts.Go(func() { w.poster.run(ctx) })
	parts.Go(func() { w.renewer.run(ctx) })
	parts.Wait()
	w.poster.wait()
	// The engine's context has ended. Handing back waits for the results, and so does the next owner.
	w.planner.release(w.planner.e.rec.facts)
}

// stopBudget is how long results may still be written after the end of the engine's context.
// 25s: the process ends within 30 s (docs/operations.md#what-scripts-may-rely-on).
const stopBudget = 25 * time.Second
