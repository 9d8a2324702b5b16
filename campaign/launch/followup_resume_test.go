package launch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// halted is a ledger that takes no rows while its process is stopped.
type halted struct {
	campaign.Ledger
	stopped bool
}

func (h *halted) AppendRows(
	ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment,
) error {
	if h.stopped {
		return errors.New("stopped")
	}
	return h.Ledger.AppendRows(ctx, no, after, rows, segments)
}

// The run itself says which rows were chosen, so a process goes on that nobody told the choice.
func TestAFollowUpGoesOnFromItsRunAlone(t *testing.T) {
	l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "131026"}, campaign.Line{Status: campaign.Failed},
		campaign.Line{Status: campaign.Refused})
	process := &halted{l.Ledger, true}
	l.Ledger = process
	if _, err := follow(l, parent, "refused", "failed=131026"); err == nil {
		t.Fatal("a process that is stopped: got no error, want one")
	}
	of := func() campaign.Run {
		t.Helper()
		runs, err := l.Runs(t.Context(), campaign.RunFilter{})
		if err != nil || len(runs) != 2 {
			t.Fatalf("got %d runs and %v, want the parent and its follow-up", len(runs), err)
		}
		return runs[0]
	}
	run := of()
	process.stopped = false
	other := run
	other.ListName = "failed of " + parent.ID()
	if _, err := launch.ResumeFollowUp(t.Context(), l, other, "a"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a run that does not name its own choice: got %v, want that it cannot be read", err)
	}
	lease, _, err := l.AcquireJob(t.Context(), fmt.Sprint("follow-up ", parent.No), "b", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := launch.ResumeFollowUp(t.Context(), l, run, "a"); !errors.Is(err, campaign.ErrTaken) {
		t.Errorf("while another process has the job: got %v, want %v", err, campaign.ErrTaken)
	}
	if err := l.ReleaseJob(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	got, err := launch.ResumeFollowUp(t.Context(), l, run, "a")
	if err != nil || got.Run.No != run.No || got.Run.State != campaign.Ready || got.Chosen != 2 || got.Existed {
		t.Errorf("resumed: got %+v and %v, want %s ready with 2 rows", got, err, run.ID())
	}
	if got, err = launch.ResumeFollowUp(t.Context(), l, run, "a"); err != nil || !got.Existed || of().Rows != 2 {
		t.Errorf("resumed again: got %+v and %v, want the run as it is", got, err)
	}
}
