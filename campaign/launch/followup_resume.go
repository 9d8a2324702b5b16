package launch

import (
	"context"
	"fmt"
	"strings"

	"campaignd/campaign"
)

// ResumeFollowUp finishes the import of a follow-up run whose process died or was stopped. It reads
// the selection from the run, and makes no other run. The errors are those of StartFollowUp, and
// campaign.ErrTaken while another process makes a follow-up run of the same parent.
func ResumeFollowUp(ctx context.Context, l FollowUpLedger, run campaign.Run, owner string) (FollowedUp, error) {
	parent, err := l.Run(ctx, run.Parent)
	if err != nil {
		return FollowedUp{}, fmt.Errorf("read the parent of %s: %w", run.ID(), err)
	}
	in := FollowUpInput{Ledger: l, Parent: parent, Owner: owner, NoWait: true}
	for s := range strings.SplitSeq(strings.TrimSuffix(run.ListName, parent.SelectionName("")), ",") {
		w, err := ParseWhere(s)
		if err != nil {
			return FollowedUp{}, fmt.Errorf("the selection of %s: %w", run.ID(), err)
		}
		in.Where = append(in.Where, w)
	}
	if selectionHash(parent, canonical(in.Where)) != run.ListHash { // StartFollowUp would make another run
		return FollowedUp{}, fmt.Errorf("the selection of %s cannot be read from %q: the same `campaignd follow-up %s` goes on with it",
			run.ID(), run.ListName, parent.ID())
	}
	return StartFollowUp(ctx, in)
}
