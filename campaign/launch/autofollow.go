package launch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
)

// AutoFollowUp is the Launch of a follow-up run that policies.follow_up started. Its limits count
// from the launch of the first run of the chain.
const AutoFollowUp = "follow-up auto"

// lateFollowUp is how late an automatic follow-up may begin. Later, nobody expects it any more: the
// daemon was down, or the policy came with a restored ledger.
const lateFollowUp = 7 * 24 * time.Hour

// whereOf selects what the policy sends again: what failed, or was refused, with one of its codes.
func whereOf(f *file.FollowUp) (all []Where) {
	for _, code := range f.Codes {
		all = append(all, Where{campaign.Failed, strconv.Itoa(code)}, Where{campaign.Refused, strconv.Itoa(code)})
	}
	return all
}

// FollowUpDue says whether policies.follow_up wants a follow-up of an ended run now. runs are all
// that its ledger has; def is the campaign of run. Each automatic follow-up of a chain counts
// against max, and so does one that an operator made.
func FollowUpDue(run campaign.Run, def *file.Definition, runs map[campaign.RunNo]campaign.Run, now time.Time) bool {
	f := def.Policies.FollowUp
	if f == nil || run.State != campaign.Finished {
		return false
	}
	due := run.EndedAt.Add(f.After.Std())
	if now.Before(due) || !now.Before(due.Add(lateFollowUp)) {
		return false
	}
	for _, r := range runs {
		if r.Parent == run.No && r.Launch == AutoFollowUp && r.State != campaign.Importing {
			return false // it has been made
		}
	}
	first, depth := run, 0
	for first.Parent != 0 {
		parent, known := runs[first.Parent]
		if !known || depth == f.Max {
			return false
		}
		first, depth = parent, depth+1
	}
	if end := def.Limits.NotAfter.Std(); end > 0 && !now.Before(first.CreatedAt.Add(end)) {
		return false
	}
	return depth < f.Max
}

// FollowUpLost says whether the ledger may have lost a follow-up of the run with its people: the
// follow-up may have begun in the time that the ledger lacks. Only a person can then tell whether
// it was sent. A run of before the lost time may have ended in it, and again after it.
func FollowUpLost(run campaign.Run, f *file.FollowUp, lost []reception.LostTime) bool {
	for _, t := range lost {
		ended := run.EndedAt
		if t.Since.Before(ended) {
			ended = t.Since
		}
		if run.CreatedAt.Before(t.At) && ended.Add(f.After.Std()).Before(t.At) {
			return true
		}
	}
	return false
}

// StartAutoFollowUp starts the follow-up that FollowUpDue wants. ok is false while it has to wait,
// when an operator made it, or when there is nobody to send to; why then says so.
func StartAutoFollowUp(
	ctx context.Context, l FollowUpLedger, run campaign.Run, f *file.FollowUp, owner string, sentWithin time.Duration,
) (followed FollowedUp, ok bool, why string, err error) {
	followed, err = StartFollowUp(ctx, FollowUpInput{Ledger: l, Parent: run, Where: whereOf(f), Owner: owner, Automatic: true,
		SentWithin: sentWithin})
	var sent *SentBeforeError
	if errors.Is(err, ErrNobody) || errors.Is(err, campaign.ErrNotNow) || errors.As(err, &sent) {
		return followed, false, err.Error(), nil
	}
	if err != nil {
		return followed, false, "", fmt.Errorf("follow up %s: %w", run.ID(), err)
	}
	if followed.Existed && followed.Run.Launch != AutoFollowUp {
		return followed, false, "an operator made " + followed.Run.ID() + " of the same rows", nil
	}
	return followed, true, "", nil
}
