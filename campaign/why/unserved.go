package why

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
)

// Unserved reports whether a run should be sent now, has rows that may be claimed, and no process
// sends them: no sender serves the run, or none serves the only connection of some rows. A run that
// waits for its window, its canary or the end of doubts is not unserved.
func Unserved(ctx context.Context, l Ledger, run campaign.Run, now time.Time) (bool, error) {
	if !run.State.Sends() || run.Wanted != campaign.WantRun {
		return false, nil
	}
	lanes, err := l.Lanes(ctx, run.No)
	if err != nil {
		return false, err
	}
	served := map[string]bool{}
	for _, r := range lanes {
		if !r.Gone(now) {
			served[r.Connection] = true
		}
	}
	segments, err := l.SegmentStates(ctx, run.No)
	return slices.ContainsFunc(segments, func(s campaign.SegmentState) bool {
		return !s.Done && !s.Closed && !s.AfterCanary && !s.LeaseUntil.After(now) && !s.WakeAt.After(now) &&
			(len(served) == 0 || s.Bound != "" && !served[s.Bound])
	}), err
}
