package launch

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// holdEdited holds the follow-up run if its template was edited after the launch that its values
// are of, as the event of the edit holds the runs that are there. An edit at any account counts,
// because accounts may not be known yet. An operator who ended such a hold of an earlier run of the
// chain has compared the values with the text of that time.
func (f *followUp) holdEdited(ctx context.Context) error {
	holds, err := f.in.Ledger.Holds(ctx, true)
	if err != nil {
		return fmt.Errorf("read the holds: %w", err)
	}
	var edited, accepted time.Time
	for _, e := range edits(holds, f.run, time.Now()) {
		edited = reception.Later(edited, e.at)
	}
	if edited.IsZero() {
		return nil
	}
	run := f.in.Parent
	for {
		for _, h := range holds {
			if h.Scope == campaign.HoldRun && h.ID == run.ID() && h.Reason == campaign.TemplateEdited {
				accepted = reception.Later(accepted, h.Lifted)
			}
		}
		if run.Parent == 0 {
			break
		}
		if run, err = f.in.Ledger.Run(ctx, run.Parent); err != nil {
			return fmt.Errorf("read the parent of a follow-up run: %w", err)
		}
	}
	if !run.LaunchedBefore(edited) || !edited.After(accepted) {
		return nil
	}
	if _, err := f.in.Ledger.AddHolds(ctx, []campaign.Hold{campaign.EditedHold(f.run, edited)}); err != nil {
		return fmt.Errorf("hold %s: %w", f.run.ID(), err)
	}
	return nil
}
