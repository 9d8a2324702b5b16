package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

var errAway = errors.New("away")

// fuse fails the call that left counts down to.
type fuse struct {
	left int
	what string // which failed
}

func (f *fuse) call(what string) error {
	if f.left--; f.left != 0 {
		return nil
	}
	f.what = what
	return fmt.Errorf("%s: %w", what, errAway)
}

// brittle is a ledger one of whose calls fails, before it does anything.
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

// each fails instead of an item, or at the end.
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

func (b brittle) SetWanted(ctx context.Context, no campaign.RunNo, w campaign.Wanted) (campaign.Run, error) {
	return through(b.fuse, "SetWanted", func() (campaign.Run, error) { return b.Ledger.SetWanted(ctx, no, w) })
}

func (b brittle) SetState(
	ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State, why campaign.PauseReason, detail string,
) (bool, error) {
	return through(b.fuse, "SetState", func() (bool, error) { return b.Ledger.SetState(ctx, no, from, to, why, detail) })
}

func (b brittle) SetAsset(ctx context.Context, no campaign.RunNo, id string, until time.Time) error {
	if err := b.call("SetAsset"); err != nil {
		return err
	}
	return b.Ledger.SetAsset(ctx, no, id, until)
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

// ReleaseJob fails after the lease is given back, so that the next try need not wait for its end.
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

func (b brittle) SuppressedKeys(ctx context.Context, keys []int64, marketing bool, now time.Time) (map[int64]campaign.SkipReason, error) {
	return through(b.fuse, "SuppressedKeys", func() (map[int64]campaign.SkipReason, error) {
		return b.Ledger.SuppressedKeys(ctx, keys, marketing, now)
	})
}

func (b brittle) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return each(b.fuse, "Lines", b.Ledger.Lines(ctx, no))
}

func (b brittle) SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	return through(b.fuse, "SegmentStates", func() ([]campaign.SegmentState, error) { return b.Ledger.SegmentStates(ctx, no) })
}

// brittleService is a service one of whose calls fails.
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

// bannerFile is a campaign with a header file, which is written beside it.
func bannerFile(t *testing.T, dir string) string {
	overwrite(t, filepath.Join(dir, "banner.jpg"), "\xff\xd8\xff\xe0\x00\x10JFIF")
	return overwrite(t, filepath.Join(dir, "spring.yaml"), strings.Replace(springFile, "assetId: ast_1", "file: banner.jpg", 1))
}

// sound is the ledger none of whose calls fails.
func sound(l campaign.Ledger) campaign.Ledger {
	if b, ok := l.(brittle); ok {
		return b.Ledger
	}
	return l
}

// whole says what is missing of a run whose import has ended.
func whole(t *testing.T, l campaign.Ledger, run campaign.Run, rows int64) error {
	l = sound(l)
	run, err := l.Run(t.Context(), run.No)
	if err != nil {
		return err
	}
	problems, err := l.Audit(t.Context(), run.No, 5)
	if err != nil || len(problems) > 0 || run.State != campaign.Ready || run.Rows != rows || len(lines(t, l, run.No)) != int(rows) {
		return fmt.Errorf("%s is %s with %d rows, problems %v (%v), want ready with %d and none",
			run.ID(), run.State, run.Rows, problems, err, rows)
	}
	return nil
}

// Each call of the ledger and the service fails once, at each place of each operation: the
// operation says so, and is done when it is asked again.
func TestEveryFailureIsReturnedAndCanBeTriedAgain(t *testing.T) {
	type do = func(l campaign.Ledger, s brittleService) error
	dir := t.TempDir()
	file := bannerFile(t, dir)
	fresh := 0 // each operation has a list of its own, and so a run of its own
	list := func(t *testing.T) string {
		fresh++
		return overwrite(t, filepath.Join(dir, fmt.Sprint(fresh, ".csv")), springList+strings.Repeat("\n", fresh))
	}
	created := func(t *testing.T, l campaign.Ledger) (campaign.Run, *campaign.Definition, string) {
		path := list(t)
		d, source, err := campaign.LoadDefinition(file)
		if err != nil {
			t.Fatal(err)
		}
		hash, _, err := recipients.Hash(path)
		if err != nil {
			t.Fatal(err)
		}
		run, err := l.CreateRun(t.Context(), campaign.Run{
			Campaign: d.Name, ListHash: hash, ListName: path, Definition: source,
			Header: []string{"phone", "first_name", "discount", "slug"}, Wanted: campaign.WantRun,
		})
		if err != nil {
			t.Fatal(err)
		}
		return run, d, path
	}
	controlled := func(state campaign.State, control func(campaign.Ledger, campaign.Run) error) func(*testing.T, campaign.Ledger) do {
		return func(t *testing.T, l campaign.Ledger) do {
			run, _, _ := created(t, l)
			if _, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Importing}, state, "", ""); err != nil {
				t.Fatal(err)
			}
			run.State = state
			return func(l campaign.Ledger, _ brittleService) error { return control(l, run) }
		}
	}
	ctx := t.Context()
	for name, c := range map[string]struct {
		calls int // at least
		once  bool
		make  func(t *testing.T, l campaign.Ledger) do
	}{
		"launch": {17, false, func(t *testing.T, _ campaign.Ledger) do {
			list := list(t)
			return func(l campaign.Ledger, s brittleService) error {
				got, err := campaign.Launch{Ledger: l, Service: s, File: file, List: list}.Start(ctx)
				if err != nil {
					return err
				}
				if got.Run.Asset != "ast_9" {
					return fmt.Errorf("the header is %q, want ast_9", got.Run.Asset)
				}
				return whole(t, l, got.Run, 8)
			}
		}},
		"resume": {15, false, func(t *testing.T, l campaign.Ledger) do {
			run, _, _ := created(t, l)
			return func(l campaign.Ledger, s brittleService) error {
				if got, err := (campaign.Launch{Ledger: l, Service: s, File: file}).Resume(ctx, run); err != nil {
					return err
				} else if !got.Resumed {
					return fmt.Errorf("got %+v, want it resumed", got)
				}
				return whole(t, l, run, 8)
			}
		}},
		"import": {2, false, func(t *testing.T, l campaign.Ledger) do {
			run, d, path := created(t, l)
			return func(l campaign.Ledger, _ brittleService) error {
				_, err := campaign.Import(ctx, campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
				return err
			}
		}},
		"import of a list that changed": {1, false, func(t *testing.T, l campaign.Ledger) do {
			run, d, path := created(t, l)
			overwrite(t, path, strings.Replace(springList, "first_name", "First Name", 1))
			return func(l campaign.Ledger, _ brittleService) error {
				_, err := campaign.Import(ctx, campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
				if !errors.Is(err, campaign.ErrListChanged) {
					return fmt.Errorf("got %v, want %v", err, campaign.ErrListChanged)
				}
				if errors.Is(err, errAway) {
					return err
				}
				if now, err := sound(l).Run(ctx, run.No); err != nil || now.State != campaign.RunStateFailed {
					return fmt.Errorf("the run is %s (%w), want failed", now.State, err)
				}
				return nil
			}
		}},
		"preflight": {6, false, func(t *testing.T, _ campaign.Ledger) do {
			in := springInput(t, springFile, springList)
			return func(l campaign.Ledger, s brittleService) error {
				in.Service, in.Suppressions = s, l
				in.Rejects = func(campaign.Reject) error { return s.call("Rejects") }
				_, err := campaign.RunPreflight(ctx, in)
				return err
			}
		}},
		"follow-up": {19, false, func(t *testing.T, l campaign.Ledger) do {
			fresh++
			_, parent := endedRunIn(t, l, fmt.Sprint(fresh), "", campaign.Line{}, campaign.Line{})
			parent.Asset, parent.AssetUntil = "ast_1", time.Now().Add(48*time.Hour)
			other := []campaign.Line{{Status: campaign.Failed}, {Status: campaign.Refused}, {Status: campaign.Failed, Code: "7"}}
			tells, _ := endedRunIn(t, l, fmt.Sprint(fresh, " lines"), "", other...)
			tells.no = parent.No
			refused, failed := []campaign.Where{{Status: campaign.Refused}}, []campaign.Where{{Status: campaign.Failed}}
			if _, err := campaign.StartFollowUp(ctx, campaign.FollowUpInput{Ledger: tells, Parent: parent, Where: refused}); err != nil {
				t.Fatal(err)
			}
			return func(l campaign.Ledger, _ brittleService) error {
				if b, ok := l.(brittle); ok {
					l = brittle{tells, b.fuse}
				} else {
					l = tells
				}
				got, err := campaign.StartFollowUp(ctx, campaign.FollowUpInput{Ledger: l, Parent: parent, Where: failed})
				if err != nil {
					return err
				}
				return whole(t, tells.Ledger, got.Run, 2)
			}
		}},
		"uncertainty": {2, false, func(t *testing.T, l campaign.Ledger) do {
			fresh++
			tells, run := endedRunIn(t, l, fmt.Sprint(fresh), "", campaign.Line{Status: campaign.Unknown})
			return func(l campaign.Ledger, _ brittleService) error {
				if b, ok := l.(brittle); ok {
					l = brittle{tells, b.fuse}
				}
				_, err := campaign.ReadUncertainty(ctx, l, run, 5)
				return err
			}
		}},
		"lift suppressions": {2, false, func(*testing.T, campaign.Ledger) do {
			return func(l campaign.Ledger, _ brittleService) error {
				_, _, err := campaign.LiftSuppressions(ctx, l, []string{"+2348031234501", "+2348031234502"}, "")
				return err
			}
		}},
		"import suppressions": {3, false, func(t *testing.T, _ campaign.Ledger) do {
			var b strings.Builder
			b.WriteString("to\n")
			for i := range 2500 {
				fmt.Fprintf(&b, "+23480312%05d\n", i)
			}
			path := writeFile(t, "stop.csv", b.String())
			return func(l campaign.Ledger, _ brittleService) error {
				_, err := campaign.ImportSuppressions(ctx, l, campaign.SuppressionFile{Path: path, Scope: campaign.ScopeAll})
				return err
			}
		}},
		"export suppressions": {4, false, func(t *testing.T, l campaign.Ledger) do {
			if _, err := l.Suppress(ctx, []campaign.Suppression{
				{Key: 1, To: "+1", Scope: campaign.ScopeAll, Source: "stop"},
				{Key: 2, To: "+2", Scope: campaign.ScopeAll, Source: strings.Repeat("s", 5000)},
			}); err != nil {
				t.Fatal(err)
			}
			return func(l campaign.Ledger, s brittleService) error {
				return campaign.ExportSuppressions(ctx, l, brittleWriter{io.Discard, s.fuse})
			}
		}},
		"find the latest": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, _ campaign.Run) error {
			_, err := campaign.FindRun(ctx, l, "latest")
			return err
		})},
		"find": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, r campaign.Run) error {
			_, err := campaign.FindRun(ctx, l, r.ID())
			return err
		})},
		"pause": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, r campaign.Run) error {
			_, err := campaign.PauseRun(ctx, l, r)
			return err
		})},
		"go on": {1, false, controlled(campaign.Paused, func(l campaign.Ledger, r campaign.Run) error {
			_, err := campaign.ResumeRun(ctx, l, r)
			return err
		})},
		"cancel": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, r campaign.Run) error {
			_, err := campaign.CancelRun(ctx, l, r)
			return err
		})},
		"approve": {2, true, controlled(campaign.WaitingApproval, func(l campaign.Ledger, r campaign.Run) error {
			_, err := campaign.ApproveRun(ctx, l, r)
			return err
		})},
		"test message": {3, false, func(t *testing.T, _ campaign.Ledger) do {
			list := list(t)
			return func(_ campaign.Ledger, s brittleService) error {
				got, receipt, err := campaign.SendTest(ctx, s, campaign.SampleInput{File: file, List: list}, "+2348031234567")
				if err == nil && (receipt.MessageID != "m1" || got.To != "+2348031234567") {
					return fmt.Errorf("got %+v to %s, want m1 to +2348031234567", receipt, got.To)
				}
				return err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLedger(t)
			for n := 1; ; n++ {
				do := c.make(t, l)
				f := &fuse{left: n}
				err := do(brittle{l, f}, brittleService{&album{account: service()}, f})
				if f.left > 0 {
					if err != nil {
						t.Errorf("without a failure: got %v, want nil", err)
					}
					if n <= c.calls {
						t.Errorf("it made %d calls, want %d or more", n-1, c.calls)
					}
					return
				}
				if !errors.Is(err, errAway) {
					t.Errorf("call %d, %s, failed: got %v, want %v", n, f.what, err, errAway)
				}
				if c.once {
					continue
				}
				if err := do(l, brittleService{&album{account: service()}, &fuse{}}); err != nil {
					t.Errorf("tried again after call %d, %s, failed: got %v, want nil", n, f.what, err)
				}
			}
		})
	}
}
