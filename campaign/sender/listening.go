package sender

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign/reception"
)

// listening is when webhooks were taken, as this process last read it. It is safe for concurrent
// use.
type listening struct {
	ledger reception.ListenLedger
	o      Options

	turn  chan struct{} // full while a goroutine reads the ledger: one at a time does. It guards the rest
	spans []reception.Span
	lost  []reception.LostTime
	at    time.Time // of the last reading
}

func newListening(l reception.ListenLedger, o Options) *listening {
	return &listening{ledger: l, o: o, turn: make(chan struct{}, 1)}
}

// listeningOld is the age at which a reading is repeated: what it says changes every
// reception.ListenEvery.
const listeningOld = 2 * time.Second

// read returns when webhooks were taken, as it is known at now.
func (l *listening) read(ctx context.Context, now time.Time) (reception.Listening, error) {
	if err := ctx.Err(); err != nil { // select would choose by chance, and a simulation would not repeat
		return reception.Listening{}, err
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return reception.Listening{}, ctx.Err()
	}
	if l.at.IsZero() || now.Sub(l.at) >= listeningOld {
		spans, err := l.ledger.Listened(ctx, now.Add(-reception.ListenKept))
		if err != nil {
			return reception.Listening{}, fmt.Errorf("read when webhooks were taken: %w", err)
		}
		if l.lost, err = l.ledger.LostTimes(ctx); err != nil {
			return reception.Listening{}, fmt.Errorf("read the lost times: %w", err)
		}
		l.spans, l.at = spans, now
	}
	return reception.NewListening(l.spans, l.o.Repeats, now).Without(l.lost), nil
}
