package purchases

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
)

// rest is how many times as long as a step took the matching rests, so that the ledger serves the
// senders for most of the time. A step is one segment of at most 4,096 deliveries.
const rest = 9

// late is how long after the end of a run a message of it may still prove accepted, by an event.
const late = 72 * time.Hour

// counted is a run whose orders are counted.
type counted struct {
	run campaign.Run
	how file.Counting
}

// counted returns the runs that started and whose orders may still be new, the newest first.
func (k *Keeper) counted(ctx context.Context, now time.Time) (all []counted, err error) {
	runs, err := k.o.Ledger.Runs(ctx, campaign.RunFilter{EndedAfter: now.Add(-file.MostWithin.Std() - late)})
	for _, r := range runs {
		how, counts := file.CountingOf(r)
		if counts && !r.StartedAt.IsZero() && (r.EndedAt.IsZero() || now.Before(r.EndedAt.Add(how.Rule.Within+late))) {
			all = append(all, counted{r, how})
		}
	}
	return all, err
}

// matchUntil matches orders with deliveries until ctx ends: when orders came, and at each poll,
// because receipts come as well.
func (k *Keeper) matchUntil(ctx context.Context) {
	for failed := false; sleep(ctx, k.o.Poll, k.changed); {
		if !k.o.Ours(ctx) {
			continue
		}
		_, err := k.Match(ctx)
		if ctx.Err() != nil {
			return
		}
		if now := err != nil && !errors.Is(err, campaign.ErrUnwritable); now != failed {
			if failed = now; failed {
				k.o.Log.Error("orders cannot be matched with deliveries: trying again until they can", "err", err)
			} else {
				k.o.Log.Info("orders can be matched with deliveries again")
			}
		}
		if !sleep(ctx, look, nil) { // at most once a second, however many orders come
			return
		}
	}
}

// Match matches the orders of every run that is counted, once, and returns how many deliveries
// changed.
func (k *Keeper) Match(ctx context.Context) (changed int, err error) {
	now := time.Now()
	runs, err := k.counted(ctx, now)
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		segments, err := k.o.Ledger.SegmentStates(ctx, r.run.No)
		if err != nil {
			return changed, err
		}
		// The tally compares times exactly; this only bounds what is stored.
		span := reception.Span{Since: r.run.StartedAt.Add(-time.Second), Until: now.Add(future)}
		if end := r.run.EndedAt.Add(r.how.Rule.Within + late); !r.run.EndedAt.IsZero() && end.Before(span.Until) {
			span.Until = end
		}
		for _, s := range segments {
			began := time.Now()
			n, err := k.o.Ledger.MatchPurchases(ctx, s, span, r.how.Rule)
			if changed += n; err != nil {
				return changed, err
			}
			if !sleep(ctx, rest*time.Since(began), nil) {
				return changed, ctx.Err()
			}
		}
	}
	return changed, nil
}
