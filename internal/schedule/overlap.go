package schedule

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// sendingOf returns the runs that may still send. A run of which only doubts are left waits for
// webhooks, up to its doubt window, and sends nothing more unless its policy sends doubts again.
func (sc *Scheduler) sendingOf(ctx context.Context, unfinished []campaign.Run) (sending []campaign.Run, err error) {
	for _, r := range unfinished {
		only, err := sc.onlyDoubts(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", r.ID(), err)
		}
		if !only {
			sending = append(sending, r)
		}
	}
	return sending, nil
}

func (sc *Scheduler) onlyDoubts(ctx context.Context, r campaign.Run) (bool, error) {
	def, err := file.ParseStored(r.ID(), r.Definition)
	if err != nil || r.State == campaign.Importing || def.Policies.OnUncertain != campaign.UncertainHold {
		return false, nil //nolint:nilerr // another version may send what this one cannot read
	}
	backlog, err := sc.o.Ledger.Backlog(ctx, r.No) // counting the rows of a long run costs more
	for _, n := range backlog {
		if n > 0 {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	tallies, _, err := sc.o.Ledger.Tallies(ctx, r.No)
	doubts := int64(0)
	for _, t := range tallies {
		switch t.Status {
		case campaign.Queued, campaign.Sending:
			return false, err
		case campaign.InDoubt:
			doubts += t.N
		}
	}
	return doubts > 0, err
}

// overlap decides about the firing f while an earlier run or the firing before is unfinished. It
// returns the firing that is to be launched.
func (w firings) overlap(policy string, f campaign.Firing, before *campaign.Firing, out *step) *campaign.Firing {
	var why string
	if len(w.unfinished) > 0 {
		why = fmt.Sprintf("%s is %s (`campaignd why %[1]s`)", w.unfinished[0].ID(), w.unfinished[0].State)
	} else {
		why = fmt.Sprintf("the firing of %s is being launched", before.At.Format(time.RFC3339))
	}
	switch {
	case policy == file.OverlapQueue && before == nil, policy == file.OverlapCancel && before == nil:
		f.Outcome, f.Detail = campaign.FiringWaiting, why
	case policy == file.OverlapCancel && before.Outcome == campaign.FiringWaiting:
		older := *before
		older.Outcome, older.Detail = campaign.FiringSkipped, "a later firing has taken its place"
		out.note = append(out.note, older)
		f.Outcome, f.Detail = campaign.FiringWaiting, why
	default:
		if policy == file.OverlapQueue && before.Outcome == campaign.FiringWaiting {
			why = fmt.Sprintf("%s, and the firing of %s waits already", why, before.At.Format(time.RFC3339))
		}
		f.Outcome, f.Detail = campaign.FiringSkipped, why
		out.note = append(out.note, f)
		return before
	}
	out.note = append(out.note, f)
	return &f
}
