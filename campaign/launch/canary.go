package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// canary chooses the rows that are sent first: exactly so many of the whole list, each by a hash of
// run and phone number.
type canary struct {
	run  campaign.RunNo
	rows int64 // that can be sent and have not been looked at
	left int64 // still to be chosen
}

// newCanary goes on where an interrupted import stopped. sendable is how many rows the preflight
// counted; 0 chooses the first rows. It returns nil without the policy.
func newCanary(policy *file.Canary, run campaign.RunNo, sendable int64, segments []campaign.SegmentState) *canary {
	if policy == nil {
		return nil
	}
	c := &canary{run: run, rows: sendable, left: policy.Count}
	for _, s := range segments {
		if !s.Closed && !s.AfterCanary {
			c.left -= s.Hi - s.Lo
		}
	}
	return c
}

// passes notes a row that can be sent and that the ledger has already.
func (c *canary) passes() { c.rows-- }

// chooses reports whether a row is of the canary: with the probability that as many are chosen of
// the rows that are left as are still to be chosen (selection sampling).
func (c *canary) chooses(key int64) bool {
	c.rows--
	if c.left <= 0 {
		return false
	}
	var text [16]byte
	binary.BigEndian.PutUint64(text[:8], uint64(c.run)) //nolint:gosec // a hash
	binary.BigEndian.PutUint64(text[8:], uint64(key))   //nolint:gosec // a hash
	sum := sha256.Sum256(text[:])
	draw := float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53) // from 0, below 1
	if draw*float64(c.rows+1) >= float64(c.left) {
		return false
	}
	c.left--
	return true
}

// CanaryLedger is the part of the ledger that CheckCanary needs.
type CanaryLedger interface {
	campaign.RunLedger
	campaign.JobLedger
	Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error)
	SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error)
	Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error]
}

// CanaryVerdict is what became of a canary.
type CanaryVerdict struct {
	Waiting  int64  // rows that wait for the canary; 0: none do
	Released bool   // this call released them
	Paused   bool   // this call paused the run
	Sentence string // of a verdict, for people
}

// canaryJudging is how long another process waits for the verdict of one that may have died.
const canaryJudging = 15 * time.Second

// canaryLate is how long deliveries are awaited after the policy's wait. The platform may hold the
// messages of a new template for up to an hour, and reports nothing meanwhile
// (docs/service.md#template-events).
const canaryLate = time.Hour

// CheckCanary looks at the canary of a run. When all of its messages have an answer, and the
// policy's wait is over, it releases the rest of the list, or pauses the run because too many
// failed. While too few were reported delivered it waits for up to canaryLate, and then pauses the
// run. It may be called often and by every replica: the leases of jobs measure the waits on the
// ledger's clock and let one of them decide (docs/limits.md#canary).
func CheckCanary(ctx context.Context, l CanaryLedger, run campaign.Run, policy *file.Canary, owner string) (v CanaryVerdict, err error) {
	if policy == nil || !run.State.Sends() || run.Wanted != campaign.WantRun {
		return v, nil
	}
	segments, err := l.SegmentStates(ctx, run.No)
	if err != nil {
		return v, fmt.Errorf("read the segments of %s: %w", run.ID(), err)
	}
	if v.Waiting = AwaitingCanary(segments); v.Waiting == 0 {
		return v, nil
	}
	tallies, _, err := l.Tallies(ctx, run.No)
	if err != nil {
		return v, fmt.Errorf("count the deliveries of %s: %w", run.ID(), err)
	}
	r := resultOf(tallies)
	if r.open > v.Waiting {
		return v, nil
	}
	lease, ok, err := l.AcquireJob(ctx, CanaryJob(run.No), owner, policy.Wait.Std())
	switch {
	case err != nil:
		return v, fmt.Errorf("check the canary of %s: %w", run.ID(), err)
	case !ok || lease.Epoch == 1: // the first lease is the wait
		return v, nil
	default:
		if _, err := l.RenewJob(ctx, lease, canaryJudging); err != nil {
			return v, fmt.Errorf("check the canary of %s: %w", run.ID(), err)
		}
	}
	if r.share() > policy.MaxFailed {
		if err := r.leaveOutRestored(ctx, l, run); err != nil {
			return v, err
		}
	}
	v.Sentence = r.fault(policy.MaxFailed, v.Waiting)
	if v.Sentence == "" && !r.enough(policy.MinDelivered) {
		if over, err := lateOver(ctx, l, run, owner); err != nil || !over {
			return v, err
		}
		v.Sentence = r.missing(policy, v.Waiting)
	}
	if v.Sentence != "" {
		v.Paused, err = l.SetState(ctx, run.No, []campaign.State{campaign.Ready, campaign.Running}, campaign.Paused,
			campaign.PausedByCanary, v.Sentence)
		return v, err
	}
	v.Sentence = fmt.Sprintf("%d of %d failed, %d of the %d accepted were reported delivered", r.failed, r.sent, r.delivered, r.accepted)
	if err := l.ReleaseCanary(ctx, run.No, "", v.Sentence); err != nil {
		return v, fmt.Errorf("release %s: %w", run.ID(), err)
	}
	v.Released = true
	return v, nil
}

// lateOver reports whether canaryLate is over. The first call begins it.
func lateOver(ctx context.Context, l CanaryLedger, run campaign.Run, owner string) (bool, error) {
	lease, ok, err := l.AcquireJob(ctx, fmt.Sprint("canary deliveries ", run.No), owner, canaryLate)
	if err != nil {
		return false, fmt.Errorf("check the canary of %s: %w", run.ID(), err)
	}
	return ok && lease.Epoch > 1, nil
}

// CanaryJob is the job whose first lease is the wait for the statuses of a run's canary.
func CanaryJob(no campaign.RunNo) string { return fmt.Sprint("canary ", no) }

// AwaitingCanary counts the deliveries of segments that wait for the verdict on the run's canary.
func AwaitingCanary(segments []campaign.SegmentState) (n int64) {
	for _, s := range segments {
		if s.AfterCanary {
			n += s.Hi - s.Lo
		}
	}
	return n
}

// canaryResult counts what became of a run whose other rows are queued.
type canaryResult struct {
	open, sent, failed  int64
	accepted, delivered int64            // of sent
	silent              int64            // of accepted: no event has come about them
	expired             int64            // skipped because the time of the run was over
	why                 []campaign.Tally // of failed, refused and unknown
	restored            int64            // left out of them
}

func resultOf(tallies []campaign.Tally) (r canaryResult) {
	for _, t := range tallies {
		switch t.Status {
		case campaign.Queued, campaign.Sending, campaign.InDoubt:
			r.open += t.N
		case campaign.Skipped:
			if t.Reason == string(campaign.Expired) {
				r.expired += t.N
			}
		case campaign.Failed, campaign.Refused, campaign.Unknown:
			r.failed += t.N
			r.why = append(r.why, t)
			r.sent += t.N
			if t.Status == campaign.Failed {
				r.accepted += t.N
			}
		default:
			r.sent, r.accepted = r.sent+t.N, r.accepted+t.N
			switch t.Status {
			case campaign.Accepted:
				r.silent += t.N
			case campaign.Delivered, campaign.Read:
				r.delivered += t.N
			}
		}
	}
	return r
}

// leaveOutRestored leaves out the unknown messages of which a quarantine made a doubt. It does not
// know which of them were sent, so they say nothing about the template or the list.
func (r *canaryResult) leaveOutRestored(ctx context.Context, l CanaryLedger, run campaign.Run) error {
	i := slices.IndexFunc(r.why, func(t campaign.Tally) bool { return t.Status == campaign.Unknown })
	if i < 0 {
		return nil
	}
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return fmt.Errorf("read %s: %w", run.ID(), err)
		}
		if line.Status == campaign.Unknown && line.Reason == campaign.Restored {
			r.restored++
		}
	}
	r.failed, r.sent = r.failed-r.restored, r.sent-r.restored
	if r.why[i].N -= r.restored; r.why[i].N == 0 {
		r.why = slices.Delete(r.why, i, i+1)
	}
	return nil
}

// fault says why the rest of the list waits for a person; "": it is sent.
func (r canaryResult) fault(most float64, waiting int64) string {
	switch share := r.share(); {
	case r.sent == 0 && r.restored > 0:
		return fmt.Sprintf("the ledger went back in time, so nobody knows whether any message of its canary was sent; "+
			"resume sends the other %d", waiting)
	case r.sent == 0 && r.expired == 0:
		return fmt.Sprintf("every row of its canary was skipped, so nothing is known of its messages; resume sends the other %d", waiting)
	case share > most:
		return fmt.Sprintf("%d of the %s of its canary failed (%s): %.1f %%, and at most %.1f %% may; resume sends the other %d",
			r.failed, sentence.Count(r.sent, "message", "messages"), r.codes(), 100*share, 100*most, waiting)
	}
	return ""
}

// enough reports whether as many of the accepted messages were delivered as the policy wants.
func (r canaryResult) enough(least float64) bool {
	return float64(r.delivered) >= least*float64(r.accepted)
}

// missing says which deliveries were not reported.
func (r canaryResult) missing(policy *file.Canary, waiting int64) string {
	return fmt.Sprintf("only %d of the %d accepted messages of its canary were reported delivered within %s after the last answer, "+
		"and at least %.1f %% must be (policies.canary.min_delivered); no event has come about %d of them; resume sends the other %d",
		r.delivered, r.accepted, policy.Wait.Std()+canaryLate, 100*policy.MinDelivered, r.silent, waiting)
}

// share is the part of the messages that failed.
func (r canaryResult) share() float64 { return float64(r.failed) / float64(max(r.sent, 1)) }

// codes lists the three most frequent reasons.
func (r canaryResult) codes() string {
	slices.SortStableFunc(r.why, func(a, b campaign.Tally) int { return cmp.Compare(b.N, a.N) })
	var all []string
	for _, t := range r.why[:min(len(r.why), 3)] {
		all = append(all, fmt.Sprintf("%d x %s", t.N, cmp.Or(t.Reason, string(t.Status))))
	}
	return strings.Join(all, ", ")
}
