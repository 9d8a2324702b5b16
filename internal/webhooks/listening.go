package webhooks

import (
	"context"
	"math/rand/v2"
	"time"

	"campaignd/campaign/reception"
)

// listenTime is the longest time in which the ledger may record that webhooks are taken.
const listenTime = 5 * time.Second

// listenUntil records in the ledger that webhooks are taken, every reception.ListenEvery until ctx
// ends. After a failure a new span begins, because the ledger took no events meanwhile.
func (i *Intake) listenUntil(ctx context.Context) {
	jitter := rand.New(rand.NewPCG(i.o.Seed, 0x6c697374656e)) // "listen": the purpose of the draws
	// The end of ctx interrupts no record, and the last record comes after it.
	lasting := context.WithoutCancel(ctx)
	var span reception.Span
	record := func(final bool) {
		if i.o.Apart != nil && i.o.Apart() != 0 {
			span = reception.Span{}
			return
		}
		ctx, cancel := context.WithTimeout(lasting, listenTime)
		defer cancel()
		if span.Until = time.Now().UTC(); span.Since.IsZero() {
			span.Since = span.Until
		}
		if err := i.ledger.Listen(ctx, span); err != nil {
			span.Since = time.Time{}
		}
		i.noteSignatures(ctx, final)
		i.noteReplayed(ctx)
	}
	for {
		record(false)
		select {
		case <-time.After(reception.ListenEvery - time.Duration(jitter.Int64N(int64(i.o.SweepJitter)+1))):
		case <-ctx.Done():
			record(true)
			return
		}
	}
}
