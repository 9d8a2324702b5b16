package daemon

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/clock"
)

// Speed of the deletion. After a step, which is one segment, it rests retireRest times as long as
// the step took: the ledger serves the senders for most of the time. A step deletes at most 4,096
// rows.
const (
	retireEvery   = time.Hour
	retireRest    = 3
	leastPause    = 20 * time.Millisecond
	retireFailing = time.Minute
)

// retain deletes the deliveries of old runs until ctx ends. One replica at a time does it, and none
// whose clock is wrong.
func (d *Daemon) retain(ctx context.Context) {
	keep := d.cfg.Retention.Deliveries.Std()
	if keep == 0 {
		return
	}
	t := turn{job: d.job("retention")}
	defer func() { _ = t.end() }() // the lease ends by itself
	var deleted int64
	failing := false
	for wait := leastPause; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		now, known := d.clock.Now()
		if !known {
			wait = clock.Every
			continue
		}
		if wait = retireEvery; !t.ours(ctx) {
			continue
		}
		began := time.Now()
		n, err := d.ledger.Retire(ctx, now.Add(-keep))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = retireFailing
		case n > 0:
			deleted, wait = deleted+n, max(leastPause, retireRest*time.Since(began))
		case deleted > 0:
			d.log.Info("old deliveries were deleted, their totals are kept", "rows", deleted, "retention", d.cfg.Retention.Deliveries.String())
			deleted = 0
		}
		if failed := err != nil && !errors.Is(err, campaign.ErrUnwritable); failed != failing {
			if failing = failed; failing {
				d.log.Error("old deliveries cannot be deleted: trying again until they can", "err", err)
			} else {
				d.log.Info("old deliveries can be deleted again")
			}
		}
	}
}
