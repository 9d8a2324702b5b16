package ledgertest

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// folding keeps the summaries of all segments before each call that may change rows. A call that
// does not tell which segments it changes leaves a summary that is wrong, and summed finds it.
type folding struct {
	campaign.Ledger
	f *fixture
}

// fold keeps the summaries, as far as the ledger can be asked.
func (l folding) fold() {
	if _, err := l.FoldSummaries(l.f.Context(), -time.Hour, 100); err != nil && l.f.Context().Err() == nil {
		l.f.Errorf("summaries: %v; want no error", err)
	}
}

func (l folding) AppendRows(ctx context.Context, no campaign.RunNo, after int64, ds []campaign.Delivery, ss []campaign.Segment) error {
	l.fold()
	return l.Ledger.AppendRows(ctx, no, after, ds, ss)
}

func (l folding) Intend(ctx context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	l.fold()
	return l.Ledger.Intend(ctx, in)
}

func (l folding) Record(ctx context.Context, rs []campaign.Result) error {
	l.fold()
	return l.Ledger.Record(ctx, rs)
}

func (l folding) Apply(ctx context.Context, e campaign.Events) (campaign.Applied, error) {
	l.fold()
	return l.Ledger.Apply(ctx, e)
}

func (l folding) Sweep(ctx context.Context, now time.Time) (campaign.Swept, error) {
	l.fold()
	return l.Ledger.Sweep(ctx, now)
}

func (l folding) Resolve(ctx context.Context, s campaign.Lease, began reception.Span, p campaign.OnUncertain) (int, error) {
	l.fold()
	return l.Ledger.Resolve(ctx, s, began, p)
}

func (l folding) SkipQueued(ctx context.Context, s campaign.Lease, why campaign.SkipReason) (int, error) {
	l.fold()
	return l.Ledger.SkipQueued(ctx, s, why)
}

func (l folding) Recover(ctx context.Context, s campaign.Lease, at time.Time) (int, error) {
	l.fold()
	return l.Ledger.Recover(ctx, s, at)
}

func (l folding) Release(ctx context.Context, s campaign.Lease, unposted []int64) error {
	l.fold()
	return l.Ledger.Release(ctx, s, unposted)
}

func (l folding) Unposted(ctx context.Context, w campaign.WireLog) (int, error) {
	l.fold()
	return l.Ledger.Unposted(ctx, w)
}

func (l folding) Move(ctx context.Context, s campaign.Lease, to string) (bool, error) {
	l.fold()
	return l.Ledger.Move(ctx, s, to)
}

func (l folding) FinishRuns(ctx context.Context) ([]campaign.Run, error) {
	l.fold()
	return l.Ledger.FinishRuns(ctx)
}

func (l folding) Retire(ctx context.Context, before time.Time) (int64, error) {
	l.fold()
	return l.Ledger.Retire(ctx, before)
}

// Differs says in what the summary of a run is not what its lines add up to; "" if they agree.
func Differs(ctx context.Context, l campaign.ReportLedger, no campaign.RunNo) (campaign.Summary, string, error) {
	got, err := l.Summary(ctx, no)
	if err != nil {
		return got, "", err
	}
	want, err := Recount(ctx, l, no, got.Step)
	if err != nil {
		return got, "", err
	}
	return got, differ(want, got), nil
}

// differ compares summaries as far as lines tell them.
func differ(want, got campaign.Summary) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(campaign.Summary{}, "At"),
		cmpopts.IgnoreFields(campaign.Funnel{}, "MaybeDuplicate", "Ambiguous"), cmpopts.EquateEmpty())
}

// allSummed fails unless the summary of each run that has all of its rows is what its lines add up
// to.
func (f *fixture) allSummed() {
	f.Helper()
	runs, err := f.l.Runs(f.ctx, campaign.RunFilter{})
	if err != nil {
		return // the promise has closed the ledger
	}
	for _, r := range runs {
		if r.Retired.Rows == 0 {
			f.summed(r.No)
		}
	}
}
