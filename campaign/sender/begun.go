package sender

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
)

// Numbers that have enough to do take up only segments that others have begun. The engine asks the
// ledger for those once a second, for all of its numbers together. A number then holds up to 8
// segments more: what two dead replicas leave behind.
const (
	begunEvery = time.Second
	begunMost  = 8
)

// begunSegments are the segments with an earlier owner that were free when the ledger was asked.
type begunSegments struct {
	asked time.Time
	free  []campaign.BegunSegment
}

// of reports whether a run has one that the connection can claim; bound: also one that only this
// connection can.
func (b *begunSegments) of(no campaign.RunNo, connection string) (any, bound bool) {
	bound = slices.Contains(b.free, campaign.BegunSegment{Run: no, Connection: connection})
	return bound || slices.Contains(b.free, campaign.BegunSegment{Run: no}), bound
}

// readBegun asks for the begun segments of the runs that are sent, unless it did so within the last
// second.
func (e *Engine) readBegun(ctx context.Context, active []*run, now time.Time) error {
	if len(active) == 0 || now.Sub(e.begun.Load().asked) < begunEvery {
		return nil
	}
	nos := make([]campaign.RunNo, len(active))
	for i, r := range active {
		nos[i] = r.no
	}
	free, err := e.ledger.FreeBegun(ctx, nos)
	if err != nil {
		return fmt.Errorf("read segments that were begun: %w", err)
	}
	e.begun.Store(&begunSegments{asked: now, free: free})
	return nil
}
