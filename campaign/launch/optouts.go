package launch

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
)

// optOutsLeast is the least number of opt-outs that may pause a run: a share of fewer proves
// nothing.
const optOutsLeast = 50

const (
	optOutsLease   = 30 * time.Second          // of one check
	optOutsTripped = 50 * 365 * 24 * time.Hour // lease after it: the breaker trips once per run
)

// OptOutLedger is the part of the ledger that the breaker of opt-outs needs.
type OptOutLedger interface {
	campaign.RunLedger
	campaign.JobLedger
	Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error)
	OptOuts(ctx context.Context, no campaign.RunNo, since time.Time) (int64, error)
}

// OptOutVerdict is what the breaker of opt-outs found.
type OptOutVerdict struct {
	// Delivered is how many messages of the run were reported delivered, when they were counted. The
	// next call wants it, so that it counts again only when the breaker could trip.
	Delivered int64
	Counted   bool   // this call read the whole run
	Paused    bool   // this call paused the run
	Sentence  string // of a pause, for people
}

// CheckOptOuts pauses a run whose recipients opt out: more than the share most of those to whom a
// delivery was reported, and at least optOutsLeast. delivered is that of an earlier verdict, or 0.
// It may be called often and by every replica: the lease of a job lets one of them decide, and
// stays after a pause, so that the breaker trips once per run (docs/limits.md#opt-outs).
func CheckOptOuts(
	ctx context.Context, l OptOutLedger, run campaign.Run, most float64, delivered int64, owner string,
) (v OptOutVerdict, err error) {
	v.Delivered = delivered
	if most <= 0 || run.StartedAt.IsZero() || !run.State.Sends() || run.Wanted != campaign.WantRun {
		return v, nil
	}
	over := func(n int64) bool { return n >= optOutsLeast && float64(n) > most*float64(v.Delivered) }
	all, err := l.OptOuts(ctx, 0, run.StartedAt)
	if err != nil || !over(all) {
		return v, err
	}
	lease, ok, err := l.AcquireJob(ctx, fmt.Sprint("opt-outs ", run.No), owner, optOutsLease)
	if err != nil || !ok {
		return v, err
	}
	v.Counted = true
	n, err := l.OptOuts(ctx, run.No, run.StartedAt)
	if err == nil && over(n) {
		var funnel campaign.Funnel
		_, funnel, err = l.Tallies(ctx, run.No)
		v.Delivered = funnel.Delivered
	}
	if err != nil {
		return v, err
	}
	if !over(n) {
		_ = l.ReleaseJob(ctx, lease) // it runs out
		return v, nil
	}
	since := run.StartedAt.UTC().Format(time.RFC3339)
	v.Sentence = fmt.Sprintf("%d of the %d recipients to whom it delivered since %s opted out: %.1f %%, and at most %.1f %% may",
		n, v.Delivered, since, 100*float64(n)/float64(max(v.Delivered, 1)), 100*most)
	if v.Delivered == 0 {
		v.Sentence = fmt.Sprintf("%d recipients opted out since %s, and no delivery was reported, so it is not known of how many; "+
			"at most %.1f %% may", n, since, 100*most)
	}
	sending := []campaign.State{campaign.Ready, campaign.Running}
	v.Paused, err = l.SetState(ctx, run.No, sending, campaign.Paused, campaign.PausedByBreaker, v.Sentence)
	if err != nil || !v.Paused {
		return v, err
	}
	_, err = l.RenewJob(ctx, lease, optOutsTripped)
	return v, err
}
