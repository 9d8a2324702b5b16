package launch_test

import (
	"context"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// leaseless is a ledger that releases no lease, or whose leases are taken over while their work is
// under way.
type leaseless struct {
	campaign.Ledger
	taken bool
}

func (l leaseless) ReleaseJob(ctx context.Context, _ campaign.JobLease) error {
	<-ctx.Done() // a lock on its row
	return ctx.Err()
}

func (l leaseless) RenewJob(ctx context.Context, j campaign.JobLease, d time.Duration) (campaign.JobLease, error) {
	if l.taken {
		return j, campaign.ErrFenced
	}
	return l.Ledger.RenewJob(ctx, j, d)
}

// FinishImport takes long enough for a lease to be lost.
func (l leaseless) FinishImport(ctx context.Context, no campaign.RunNo, rows int64, s campaign.State) error {
	err := l.Ledger.FinishImport(ctx, no, rows, s)
	if l.taken {
		<-ctx.Done()
	}
	return err
}

// A launch that made a run is answered with that run: whoever gets an error launches again, and
// sends to everyone twice.
func TestALeaseThatIsNotReleasedDecidesNothing(t *testing.T) {
	for _, taken := range []bool{false, true} {
		r := newRelaunch(t)
		l := r.of("list.csv", springList, "")
		l.Ledger, l.Lease = leaseless{r.ledger, taken}, 600*time.Millisecond
		launched, err := l.Start(t.Context())
		if err != nil || launched.Run.No == 0 || launched.Run.State != campaign.Ready {
			t.Fatalf("taken over %v: got the run %+v, %v; want a ready run and no error", taken, launched.Run, err)
		}
	}
}

func TestALeaseNotReleasedFailsNoFollowUp(t *testing.T) {
	r := newRelaunch(t)
	first := start(t, r.of("list.csv", springList, "")).Run
	leases, err := r.ledger.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{first.No}, Max: 9,
		Lease: time.Minute})
	if err != nil {
		t.Fatalf("claim: got %v, want no error", err)
	}
	for _, lease := range leases {
		if _, err := r.ledger.SkipQueued(t.Context(), lease, campaign.RunCancelled); err != nil {
			t.Fatalf("skip: got %v, want no error", err)
		}
	}
	first.State = campaign.Running
	r.end(first, campaign.Cancelled)
	parent, err := r.ledger.Run(t.Context(), first.No)
	if err != nil {
		t.Fatalf("read the run: got %v, want no error", err)
	}
	where, err := launch.ParseWhere("skipped=cancelled")
	if err != nil {
		t.Fatalf("got %v, want no error", err)
	}
	follow, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: leaseless{Ledger: r.ledger}, Parent: parent,
		Where: []launch.Where{where}})
	if err != nil || follow.Run.No == 0 {
		t.Errorf("got the run %+v, %v; want a run and no error", follow.Run, err)
	}
}
