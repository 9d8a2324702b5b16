package launch

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/recipients"
)

// leavesOut reports whether the follow-up run leaves out who got its template from a run that is
// not of its family. An automatic follow-up does what its parent did.
func (f *followUp) leavesOut(def *file.Definition) bool {
	if f.in.Automatic && f.in.Parent.LeaveOut {
		return true
	}
	return f.in.LeaveOutSent || def.Policies.SentBefore == file.SentBeforeLeaveOut && !f.in.SendAgain
}

// refuseRepeats compares the selection, whose numbers are keys, with the runs of its template that
// are not of its family, and refuses it as a launch does.
func (f *followUp) refuseRepeats(ctx context.Context, def *file.Definition, keys *recipients.KeySet) error {
	p, leaveOut := f.in.Parent, f.leavesOut(def)
	if f.in.SendAgain && !leaveOut || !p.Marketing && def.Policies.SentBefore == "" && !leaveOut {
		return nil
	}
	family, err := f.family(ctx)
	if err != nil {
		return err
	}
	r := Repeats{Ledger: f.in.Ledger, Within: f.in.SentWithin}
	met, s, err := r.compare(ctx, p.Template, keys, func(run campaign.Run) bool {
		// No row is in two follow-ups of one run (ErrFollowedUp).
		return family[run.No] || run.Parent == p.No || f.in.Automatic && run.Campaign == p.Campaign
	})
	if err != nil {
		return err
	}
	s.People, s.Of = int64(met.Len()), int64(keys.Len())
	f.SentBefore = s
	switch {
	case leaveOut || !s.Any() || f.in.DryRun:
	case !f.in.Automatic:
		return &SentBeforeError{SentBefore: *s, ByHand: true}
	case def.Policies.SentBefore == file.SentBeforeRefuse:
		return &SentBeforeError{SentBefore: *s}
	}
	return nil
}

// family are the runs whose rows the follow-up run has: its parent, and the parents of that.
func (f *followUp) family(ctx context.Context) (map[campaign.RunNo]bool, error) {
	family := map[campaign.RunNo]bool{}
	for run := f.in.Parent; ; {
		if family[run.No] = true; run.Parent == 0 {
			return family, nil
		}
		var err error
		if run, err = f.in.Ledger.Run(ctx, run.Parent); err != nil {
			return nil, fmt.Errorf("read the parent of a follow-up run: %w", err)
		}
	}
}
