package webhooks

import (
	"context"
	"sync"
	"time"

	"campaignd/internal/messaging"
)

// replayed counts the deliveries that may be of a replay of lost events, for reception.LostTime.
type replayed struct {
	mu    sync.Mutex
	taken []delivery // since the last note
}

// delivery is a delivery that was answered 2xx.
type delivery struct{ event, received time.Time } // the time of its last event

// mostTaken is how many deliveries wait for a note: 13,000 a second. More are not counted, and the
// run waits for its doubt window.
const mostTaken = 1 << 17

// took notes a delivery of the service. One whose events have no time cannot be told from others.
func (r *replayed) took(events []messaging.Event, received time.Time) {
	var last time.Time
	for i := range events {
		if at := events[i].At; at.After(last) {
			last = at
		}
	}
	if last.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.taken) < mostTaken {
		r.taken = append(r.taken, delivery{last, received})
	}
}

// noteReplayed adds what came since the last note to the lost times. It is called every
// reception.ListenEvery, and a last time when the intake ends. What the ledger does not take is
// counted with the next note.
func (i *Intake) noteReplayed(ctx context.Context) {
	i.replayed.mu.Lock()
	taken := i.replayed.taken
	i.replayed.taken = nil
	i.replayed.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	lost, err := i.ledger.LostTimes(ctx)
	if err != nil {
		i.replayed.mu.Lock()
		i.replayed.taken = append(taken, i.replayed.taken...)
		i.replayed.mu.Unlock()
		return
	}
	for _, t := range lost {
		n := int64(0)
		for _, d := range taken {
			if t.Of(d.event, d.received) {
				n++
			}
		}
		if n > 0 && (t.Asked.IsZero() || t.Replaying()) {
			if err := i.ledger.CountReplayed(ctx, t.At, n); err != nil {
				i.o.Log.Warn("deliveries of the replay are not counted: a run may wait for its doubt window", "err", err, "deliveries", n)
			}
		}
	}
}
