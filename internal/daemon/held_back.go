package daemon

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
)

// heldBack returns the hold that keeps what is left of a run back although a connection is free:
// each segment that is not done belongs to a connection that is held, and never changes it
// (docs/protocol.md#holds). If there are several, it is the one that ends first.
func (d *Daemon) heldBack(ctx context.Context, run campaign.Run, holds []campaign.Hold) (by campaign.Hold, err error) {
	if len(holds) == 0 {
		return by, nil
	}
	segments, err := d.ledger.SegmentStates(ctx, run.No)
	if err != nil {
		return by, fmt.Errorf("read the segments: %w", err)
	}
	for _, s := range segments {
		if s.Done {
			continue
		}
		if s.Connection == "" {
			return campaign.Hold{}, nil
		}
		o := d.directory.Origin(s.Connection)
		o.Template, o.Language, o.Run = run.Template, run.Language, run.ID()
		h, held := campaign.HeldBy(holds, o, time.Now())
		if !held {
			return campaign.Hold{}, nil
		}
		if by.Scope == "" || h.EndsBefore(by) {
			by = h
		}
	}
	return by, nil
}
