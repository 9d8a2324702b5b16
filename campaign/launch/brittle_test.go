package launch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

var errAway = errors.New("away")

// fuse fails one call: the one with which left reaches 0.
type fuse struct {
	left int
	what string // the call that failed
}

func (f *fuse) call(what string) error {
	if f.left--; f.left != 0 {
		return nil
	}
	f.what = what
	return fmt.Errorf("%s: %w", what, errAway)
}

// brittle is a ledger with one call that fails before it does anything.
type brittle struct {
	campaign.Ledger
	*fuse
}

func through[T any](f *fuse, what string, do func() (T, error)) (T, error) {
	if err := f.call(what); err != nil {
		var none T
		return none, err
	}
	return do()
}

// each yields the items of all and fails instead of one of them, or at the end.
func each[T any](f *fuse, what string, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for v, err := range all {
			if away := f.call(what); away != nil {
				yield(none, away)
				return
			}
			if !yield(v, err) {
				return
			}
		}
		if away := f.call("end of " + what); away != nil {
			yield(none, away)
		}
	}
}

func (b brittle) CreateRun(ctx context.Context, r campaign.Run) (campaign.Run, error) {
	return through(b.fuse, "CreateRun", func() (campaign.Run, error) { return b.Ledger.CreateRun(ctx, r) })
}

func (b brittle) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	return through(b.fuse, "Run", func() (campaign.Run, error) { return b.Ledger.Run(ctx, no) })
}

func (b brittle) Runs(ctx context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	return through(b.fuse, "Runs", func() ([]campaign.Run, error) { return b.Ledger.Runs(ctx, w) })
}

func (b brittle) SetWanted(ctx context.Context, no campaign.RunNo, w campaign.Wanted, who string) (campaign.Run, error) {
	return through(b.fuse, "SetWanted", func() (campaign.Run, error) { return b.Ledger.SetWanted(ctx, no, w, who) })
}

func (b brittle) Approve(ctx context.Context, no campaign.RunNo, who string) (bool, error) {
	return through(b.fuse, "Approve", func() (bool, error) { return b.Ledger.Approve(ctx, no, who) })
}

func (b brittle) SetState(
	ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State, why campaign.PauseReason, detail string,
) (bool, error) {
	return through(b.fuse, "SetState", func() (bool, error) { return b.Ledger.SetState(ctx, no, from, to, why, detail) })
}

func (b brittle) SetAssets(ctx context.Context, no campaign.RunNo, all []campaign.Asset) error {
	if err := b.call("SetAssets"); err != nil {
		return err
	}
	return b.Ledger.SetAssets(ctx, no, all)
}

func (b brittle) Assets(ctx context.Context, no campaign.RunNo) ([]campaign.Asset, error) {
	return through(b.fuse, "Assets", func() ([]campaign.Asset, error) { return b.Ledger.Assets(ctx, no) })
}

func (b brittle) AppendRows(
	ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment,
) error {
	if err := b.call("AppendRows"); err != nil {
		return err
	}
	return b.Ledger.AppendRows(ctx, no, after, rows, segments)
}

func (b brittle) FinishImport(ctx context.Context, no campaign.RunNo, rows int64, s campaign.State) error {
	if err := b.call("FinishImport"); err != nil {
		return err
	}
	return b.Ledger.FinishImport(ctx, no, rows, s)
}

func (b brittle) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	if err := b.call("AcquireJob"); err != nil {
		return campaign.JobLease{}, false, err
	}
	return b.Ledger.AcquireJob(ctx, name, owner, d)
}

// ReleaseJob fails after it released the lease, so that the next attempt need not wait for its end.
func (b brittle) ReleaseJob(ctx context.Context, l campaign.JobLease) error {
	if err := b.Ledger.ReleaseJob(ctx, l); err != nil {
		return err
	}
	return b.call("ReleaseJob")
}

func (b brittle) Suppress(ctx context.Context, s []campaign.Suppression) (int, error) {
	return through(b.fuse, "Suppress", func() (int, error) { return b.Ledger.Suppress(ctx, s) })
}

func (b brittle) Unsuppress(ctx context.Context, s []campaign.Suppression) (int, error) {
	return through(b.fuse, "Unsuppress", func() (int, error) { return b.Ledger.Unsuppress(ctx, s) })
}

func (b brittle) Suppressions(ctx context.Context) iter.Seq2[campaign.Suppression, error] {
	return each(b.fuse, "Suppressions", b.Ledger.Suppressions(ctx))
}

func (b brittle) SuppressionsOf(ctx context.Context, key int64) ([]campaign.Suppression, error) {
	return through(b.fuse, "SuppressionsOf", func() ([]campaign.Suppression, error) { return b.Ledger.SuppressionsOf(ctx, key) })
}

func (b brittle) SuppressedKeys(ctx context.Context, keys []int64, marketing bool, companies []string, now time.Time,
) (map[int64]campaign.SkipReason, error) {
	return through(b.fuse, "SuppressedKeys", func() (map[int64]campaign.SkipReason, error) {
		return b.Ledger.SuppressedKeys(ctx, keys, marketing, companies, now)
	})
}

func (b brittle) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return each(b.fuse, "Lines", b.Ledger.Lines(ctx, no))
}

func (b brittle) SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	return through(b.fuse, "SegmentStates", func() ([]campaign.SegmentState, error) { return b.Ledger.SegmentStates(ctx, no) })
}

// brittleService is a service with one call that fails.
type brittleService struct {
	*album
	*fuse
}

func (b brittleService) Connections(ctx context.Context) ([]messaging.Connection, error) {
	return through(b.fuse, "Connections", func() ([]messaging.Connection, error) { return b.album.Connections(ctx) })
}

func (b brittleService) Numbers(ctx context.Context) ([]messaging.Number, error) {
	return through(b.fuse, "Numbers", func() ([]messaging.Number, error) { return b.album.Numbers(ctx) })
}

func (b brittleService) Templates(ctx context.Context, id string) ([]messaging.TemplateRecord, error) {
	return through(b.fuse, "Templates", func() ([]messaging.TemplateRecord, error) { return b.album.Templates(ctx, id) })
}

func (b brittleService) UploadMedia(ctx context.Context, id, name, contentType string, r io.Reader) (messaging.Asset, error) {
	return through(b.fuse, "UploadMedia", func() (messaging.Asset, error) { return b.album.UploadMedia(ctx, id, name, contentType, r) })
}

func (b brittleService) Send(context.Context, *messaging.Message) (messaging.Receipt, error) {
	return through(b.fuse, "Send", func() (messaging.Receipt, error) { return messaging.Receipt{MessageID: "m1"}, nil })
}

// brittleWriter fails like a full disk.
type brittleWriter struct {
	io.Writer
	*fuse
}

func (b brittleWriter) Write(p []byte) (int, error) {
	return through(b.fuse, "Write", func() (int, error) { return b.Writer.Write(p) })
}

// sound is the ledger without the calls that fail.
func sound(l campaign.Ledger) campaign.Ledger {
	if b, ok := l.(brittle); ok {
		return b.Ledger
	}
	return l
}
