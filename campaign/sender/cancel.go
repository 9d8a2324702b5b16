package sender

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

const (
	// seizeAfter is how long a cancelled run waits for the owners of its segments. A living owner
	// obeys within a second and then awaits its posts; a dead one never does. The rest of the 5 s
	// within which a run is cancelled is for skipping.
	seizeAfter = 3 * time.Second
	// skipAtOnce is the most segments of a cancelled run that one claim takes, and skipFor the longest
	// time that the other runs wait meanwhile.
	skipAtOnce = 8
	skipFor    = 300 * time.Millisecond
)

// canceller skips what is queued of the runs that are to be cancelled. It needs neither their
// definition nor a connection, so it also ends runs that this version cannot send.
type canceller struct {
	ledger Ledger
	owner  string
	lease  time.Duration
	since  map[campaign.RunNo]time.Time // when this process first saw that a run is to be cancelled
}

func newCanceller(l Ledger, o Options) *canceller {
	return &canceller{ledger: l, owner: o.Owner, lease: o.Lease, since: map[campaign.RunNo]time.Time{}}
}

// EndCancelled ends a run whose wanted state is cancel: it skips the queued rows and sends nothing.
// It returns when the run has ended, or its last state when ctx ends. It uses the options
// Owner and Lease only.
func EndCancelled(ctx context.Context, l Ledger, no campaign.RunNo, o Options) (campaign.Run, error) {
	o, err := o.withDefaults()
	if err != nil {
		return campaign.Run{}, err
	}
	c := newCanceller(l, o)
	for {
		run, err := l.Run(ctx, no)
		if err != nil || run.State.Ended() || run.Wanted != campaign.WantCancel {
			return run, err
		}
		more, err := c.skipQueued(ctx, run)
		if err == nil && !more {
			if _, err = l.FinishRuns(ctx); err != nil {
				err = fmt.Errorf("finish runs: %w", err)
			}
		}
		if err != nil {
			return run, err
		}
		if run, err = l.Run(ctx, no); err != nil || run.State.Ended() {
			return run, err
		}
		wait := 20 * time.Millisecond
		if more {
			wait = 0
		}
		if sleep(ctx, wait); ctx.Err() != nil {
			return run, nil //nolint:nilerr // the end of ctx is no error here
		}
	}
}

// skipQueued skips the segments of a run for at most skipFor. It reports whether it stopped before
// it had looked at all of them. Segments under another owner's lease are left to that owner for
// seizeAfter, then taken over.
func (c *canceller) skipQueued(ctx context.Context, s campaign.Run) (more bool, err error) {
	now := time.Now()
	if c.since[s.No].IsZero() {
		c.since[s.No] = now
	}
	// An older version left it in one of these states, or it was cancelled in the instant of a pause.
	from := []campaign.State{campaign.Importing, campaign.WaitingApproval, campaign.Paused}
	if !s.State.Sends() {
		if _, err := c.ledger.SetState(ctx, s.No, from, campaign.Ready, "", s.Detail); err != nil {
			return false, fmt.Errorf("cancel %s: %w", s.ID(), err)
		}
	}
	claim := campaign.Claim{Owner: c.owner, Runs: []campaign.RunNo{s.No}, Cancelled: true, Max: skipAtOnce, Lease: c.lease,
		Seize: now.Sub(c.since[s.No]) >= seizeAfter}
	for time.Since(now) < skipFor {
		leases, err := c.ledger.Claim(ctx, claim)
		if err != nil {
			return false, fmt.Errorf("claim what %s has queued: %w", s.ID(), err)
		}
		for i, l := range leases {
			if err := c.skipSegment(ctx, l); err != nil && !errors.Is(err, campaign.ErrFenced) {
				c.handBack(ctx, leases[i:])
				return false, fmt.Errorf("skip what %s has queued: %w", s.ID(), err)
			}
		}
		if len(leases) < skipAtOnce {
			return false, nil
		}
	}
	return true, nil
}

// skipSegment ends a segment. Its doubts become unknown at once: nobody sends them again by policy,
// and a webhook can still prove them sent.
func (c *canceller) skipSegment(ctx context.Context, l campaign.Lease) error {
	now := time.Now()
	if l.Mark > l.Lo || l.Recovered {
		if _, err := c.ledger.Recover(ctx, l, now); err != nil {
			return err
		}
	}
	if _, err := c.ledger.SkipQueued(ctx, l, campaign.RunCancelled); err != nil {
		return err
	}
	// The clocks of other replicas may be ahead of this one's.
	if _, err := c.ledger.Resolve(ctx, l, reception.Span{Until: now.Add(time.Hour)}, campaign.UncertainHold); err != nil {
		return err
	}
	_, err := c.ledger.Park(ctx, l, now, func(since time.Time) time.Time { return since })
	return err
}

// handBack releases segments that could not be skipped, so that they can be claimed again at once.
func (c *canceller) handBack(ctx context.Context, leases []campaign.Lease) {
	// Also when ctx has ended, since that may be why they were not skipped.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopBudget)
	defer stop()
	for _, l := range leases {
		if err := c.ledger.Release(ctx, l, nil); err != nil {
			return // another owner takes the rest over after seizeAfter
		}
	}
}

// skipCancelled skips what is queued of the runs that are to be cancelled, and ends those that have
// nothing left.
func (e *Engine) skipCancelled(ctx context.Context, runs []campaign.Run) error {
	for _, s := range runs {
		more, err := e.cancel.skipQueued(ctx, s)
		if err != nil {
			return err
		}
		if more {
			e.Poke()
		}
	}
	maps.DeleteFunc(e.cancel.since, func(no campaign.RunNo, _ time.Time) bool {
		return !slices.ContainsFunc(runs, func(s campaign.Run) bool { return s.No == no })
	})
	if len(runs) == 0 {
		return nil
	}
	return e.finish(ctx)
}
