package launch_test

import (
	"context"
	"errors"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// A dry run counts what the follow-up would do, and refuses what it would refuse.
func TestADryRunOfAFollowUpStoresNothing(t *testing.T) {
	l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "1"}, campaign.Line{Status: campaign.Refused, Code: "2"},
		campaign.Line{Status: campaign.Failed, Code: "3"})
	dry := func(status campaign.Status) (launch.FollowedUp, error) {
		return launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: l, Parent: parent, DryRun: true,
			Where: []launch.Where{{Status: status}}})
	}
	for range 2 {
		got, err := dry(campaign.Failed)
		if err != nil || got.Chosen != 2 || got.Run.No != 0 || got.Existed || !got.DryRun {
			t.Fatalf("got %+v and %v, want 2 rows and no run", got, err)
		}
	}
	if _, err := dry(campaign.Unknown); !errors.Is(err, launch.ErrNobody) {
		t.Errorf("without a row: got %v, want %v", err, launch.ErrNobody)
	}
	first, err := follow(l, parent, "failed")
	if err != nil || first.Existed || first.Chosen != 2 {
		t.Fatalf("the follow-up afterwards: got %+v and %v, want a new run of 2 rows", first, err)
	}
	if got, err := dry(campaign.Failed); err != nil || !got.Existed || !got.DryRun || got.Run.No != first.Run.No {
		t.Errorf("a dry run of it: got %+v and %v, want run %d", got, err, first.Run.No)
	}
}

// otherwise is a ledger in which another run always has the recipients first.
type otherwise struct {
	*fixedRows
	appends int
}

func (l *otherwise) AppendRows(context.Context, campaign.RunNo, int64, []campaign.Delivery, []campaign.Segment) error {
	l.appends++
	return campaign.ErrFollowedUp
}

// A follow-up whose recipients another run takes again and again ends, and says so.
func TestAFollowUpThatLosesEachRaceEnds(t *testing.T) {
	rows, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "1"})
	l := &otherwise{fixedRows: rows}
	_, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: l, Parent: parent,
		Where: []launch.Where{{Status: campaign.Failed}}})
	if !errors.Is(err, campaign.ErrFollowedUp) || l.appends != 4 {
		t.Errorf("got %v after %d tries, want %v after 4", err, l.appends, campaign.ErrFollowedUp)
	}
}
