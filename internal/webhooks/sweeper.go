package webhooks

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"campaignd/campaign"
)

// sweepTime is the longest time of one sweep. A table of a million orphans takes a few seconds.
const sweepTime = 30 * time.Second

// sweepUntil sweeps after each pause until ctx ends. A sweep matches orphans with deliveries:
// statuses that came before their receipt was written, and statuses that prove a doubt
// (docs/protocol.md#adoption).
func (i *Intake) sweepUntil(ctx context.Context) {
	jitter := rand.New(rand.NewPCG(i.o.Seed, 0x73776565706572)) // "sweeper": the purpose of the draws
	failing, unattributed := false, false
	for {
		select {
		case <-time.After(i.o.Sweep + time.Duration(jitter.Int64N(int64(i.o.SweepJitter)+1))):
		case <-ctx.Done():
			return
		}
		sweeping, cancel := context.WithTimeout(ctx, sweepTime)
		if i.o.SweepTurn != nil && !i.o.SweepTurn(sweeping) {
			cancel()
			i.counters.sweptElsewhere()
			if failing {
				failing = false
				i.o.Log.Info("early webhooks are matched again, by another process")
			}
			continue
		}
		swept, err := i.ledger.Sweep(sweeping, i.o.Expiry.Before(0).UTC())
		cancel()
		if ctx.Err() != nil {
			return
		}
		i.counters.swept(swept, err)
		if waits := swept.Unattributed > 0; err == nil && waits != unattributed {
			if unattributed = waits; waits {
				i.o.Log.Warn("opt-outs wait for the number of their person: marketing to it goes on until an event tells it; see `campaignd doctor`",
					"waiting", swept.Unattributed)
			} else {
				i.o.Log.Info("no opt-out waits for the number of its person any more")
			}
		}
		if fails := err != nil && !errors.Is(err, campaign.ErrUnwritable); fails != failing {
			if failing = fails; failing {
				i.o.Log.Error("early webhooks cannot be matched; tried again each second", "err", err)
			} else {
				i.o.Log.Info("early webhooks are matched again")
			}
		}
	}
}
