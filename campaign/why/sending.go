package why

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// Sending says what a run waits for at now to the process that sends it, which has counted its rows
// and knows the hold that stops it (the zero value: none does). It returns "" while only the pace
// of its numbers limits the run, or nothing does, and while all that is left are rows in doubt.
func Sending(
	ctx context.Context, l Ledger, run campaign.Run, totals map[campaign.Status]int64, held campaign.Hold, now time.Time,
) (string, error) {
	w := Answer{Totals: Totals{Queued: totals[campaign.Queued], Sending: totals[campaign.Sending]}, heldBy: held, at: now, sender: true}
	if run.State != campaign.Paused && run.State != campaign.WaitingApproval {
		if w.Totals.Queued+w.Totals.Sending == 0 {
			return "", nil
		}
		segments, err := l.SegmentStates(ctx, run.No)
		if err != nil {
			return "", fmt.Errorf("read the segments of %s: %w", run.ID(), err)
		}
		w.Opens, w.afterCanary = WindowOpens(segments, now), launch.AwaitingCanary(segments)
		lanes, err := l.Lanes(ctx, run.No)
		if err != nil {
			return "", fmt.Errorf("read the lanes of %s: %w", run.ID(), err)
		}
		w.show(lanes, now)
		w.Lanes = slices.DeleteFunc(w.Lanes, func(l LaneState) bool { return l.LimitedBy == campaign.ByThroughput })
	}
	limit, sentence := w.answer(run)
	if limit == campaign.ByNone || limit == campaign.ByThroughput {
		return "", nil
	}
	return sentence, nil
}
