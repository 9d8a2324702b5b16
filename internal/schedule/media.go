package schedule

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
)

// KeepMedia renews the header file of one run until ctx ends, as `campaignd serve` does for all
// runs.
func (sc *Scheduler) KeepMedia(ctx context.Context, e *sender.Engine, only campaign.RunNo) {
	l := NewLauncher(sc)
	defer l.Wait()
	t := time.NewTicker(launchAgain)
	defer t.Stop()
	for {
		sc.renewMedia(ctx, l, e, only)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// renewMedia uploads again the header files whose assets expire soon: those of the run only, or
// with 0 those of all runs. One replica does that for a run; a replica without the file leaves it
// to one that has it.
func (sc *Scheduler) renewMedia(ctx context.Context, l *Launcher, e *sender.Engine, only campaign.RunNo) {
	runs, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return // the engine logs it
	}
	for _, r := range runs {
		if r.AssetUntil.IsZero() || time.Until(r.AssetUntil) > launch.AssetRenew || r.Wanted == campaign.WantCancel ||
			only != 0 && r.No != only {
			continue
		}
		l.try(ctx, "media "+r.ID(), func(ctx context.Context) error {
			return sc.rested(ctx, fmt.Sprint("media ", r.No), sc.Launch("", ""), func(ctx context.Context, l launch.Request) error {
				renewed, err := launch.RenewMedia(ctx, sc.o.Ledger, l.Service, r.No, time.Now())
				if renewed {
					sc.o.Log.Info("header file uploaded again", "run", r.ID())
					e.Poke()
				}
				return err
			})
		})
	}
}
