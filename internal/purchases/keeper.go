package purchases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/internal/commerce"
	"campaignd/internal/faults"
	"campaignd/internal/messaging"
)

// Ledger is what a Keeper needs of the ledger.
type Ledger interface {
	campaign.PurchaseLedger
	Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error)
	SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error)
}

// Options are what a Keeper needs. Ledger and Client are required.
type Options struct {
	Ledger Ledger
	// Client returns the client of the platform, or why there is none yet.
	Client func() (*commerce.Client, error)
	// Poll is how often the changed orders are read; default a minute.
	Poll time.Duration
	// Ours reports whether this process does the work now; nil: always.
	Ours func(ctx context.Context) bool
	// Log; nil discards.
	Log *slog.Logger
}

// Keeper takes orders and matches them.
type Keeper struct {
	o       Options
	client  *commerce.Client
	buyer   buyer
	polled  time.Time // when the last poll began
	changed chan struct{}
	known   faults.Known
	ahead   ahead
	aside   map[string]trial // hints that failed, by order
	odd     count            // orders that the poll could not read

	answered time.Time // when the platform last showed an order that was asked for
}

// ahead is what a step has seen of orders that were created in the future.
type ahead struct {
	orders  int
	example conversion.Order
	told    time.Time // when the log told it last
}

// New returns a Keeper that has not begun.
func New(o Options) *Keeper {
	if o.Poll <= 0 {
		o.Poll = time.Minute
	}
	if o.Ours == nil {
		o.Ours = func(context.Context) bool { return true }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{o: o, changed: make(chan struct{}, 1)}
}

// The waits of a Keeper: look is how often hints and the turn are looked for, failing the wait
// after an error.
const (
	look    = time.Second
	failing = 15 * time.Second
)

// Run takes and matches orders until ctx ends. It returns when nothing of it is left.
func (k *Keeper) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { k.takeUntil(ctx) })
	both.Go(func() { k.matchUntil(ctx) })
	both.Wait()
}

// takeUntil asks for orders until ctx ends.
func (k *Keeper) takeUntil(ctx context.Context) {
	for wait := time.Duration(0); sleep(ctx, wait, nil); {
		wait = look
		if !k.o.Ours(ctx) {
			continue
		}
		more, err := k.Take(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = failing
			k.forget(err)
			err = explained(err)
			if changed, before := k.known.Failed("", faults.Words(err)); changed {
				k.o.Log.Warn("orders of the commerce platform cannot be read: trying again until they can", faults.Counting(before, "err", err)...)
			}
		default:
			if times := k.known.Succeeded(""); times > 0 {
				k.o.Log.Info("orders of the commerce platform can be read again", "failures", times)
			}
			if more {
				wait = 0
			}
		}
	}
}

// forget drops the client after a failure that only another key or configuration can end: its token
// may be another one now. After a failure that passes the client stays, because it has learned the
// rate that the platform takes.
func (k *Keeper) forget(err error) {
	if e, ok := errors.AsType[*commerce.Error](err); ok && !e.Temporary() && k.client != nil {
		k.client.Close()
		k.client = nil
	}
}

// explained adds the remedy to an error of the platform.
func explained(err error) error {
	if e, ok := errors.AsType[*commerce.Error](err); ok {
		return fmt.Errorf("%w: %s", err, cmp.Or(messaging.Untrusted(err), e.Code.Remedy()))
	}
	return err
}

// matched says that matchUntil has something to do.
func (k *Keeper) matched() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// sleep waits for d, for ctx, or for wake; it reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
	return ctx.Err() == nil
}
