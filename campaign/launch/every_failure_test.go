//go:build long

package launch_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// In each operation, each call of the ledger and of the service fails once. The operation returns
// the error, and succeeds when it is called again.
func TestEveryFailureIsReturnedAndCanBeTriedAgain(t *testing.T) {
	type do = func(l campaign.Ledger, s brittleService) error
	dir := t.TempDir()
	campaignFile := bannerFile(t, dir)
	fresh := 0 // each operation has its own list, and therefore its own run
	list := func(t *testing.T) string {
		fresh++
		return overwrite(t, filepath.Join(dir, fmt.Sprint(fresh, ".csv")), springList+strings.Repeat("\n", fresh))
	}
	created := func(t *testing.T, l campaign.Ledger) (campaign.Run, *file.Definition, string) {
		path := list(t)
		d, source, err := file.Load(campaignFile)
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
		"launch": {16, false, func(t *testing.T, l campaign.Ledger) do {
			unfinished, err := launch.Unfinished(ctx, l, "spring-sale")
			for _, r := range unfinished { // they would refuse another list
				_, e := l.SetWanted(ctx, r.No, campaign.WantCancel, "")
				err = errors.Join(err, e)
			}
			if err != nil {
				t.Fatal(err)
			}
			list := list(t)
			return func(l campaign.Ledger, s brittleService) error {
				got, err := launch.Request{Ledger: l, Service: s, File: campaignFile, List: list}.Start(ctx)
				if err != nil {
					return err
				}
				if got.Run.Asset != "ast_9" {
					return fmt.Errorf("the header is %q, want ast_9", got.Run.Asset)
				}
				return whole(t, l, got.Run, 8)
			}
		}},
		"resume": {14, false, func(t *testing.T, l campaign.Ledger) do {
			run, _, _ := created(t, l)
			return func(l campaign.Ledger, s brittleService) error {
				if got, err := (launch.Request{Ledger: l, Service: s, File: campaignFile}).Resume(ctx, run); err != nil {
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
				_, err := launch.Import(ctx, launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
				return err
			}
		}},
		"import of a list that changed": {1, false, func(t *testing.T, l campaign.Ledger) do {
			run, d, path := created(t, l)
			overwrite(t, path, strings.Replace(springList, "first_name", "First Name", 1))
			return func(l campaign.Ledger, _ brittleService) error {
				_, err := launch.Import(ctx, launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
				if !errors.Is(err, launch.ErrListChanged) {
					return fmt.Errorf("got %v, want %v", err, launch.ErrListChanged)
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
				_, err := launch.RunPreflight(ctx, in)
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
			refused, failed := []launch.Where{{Status: campaign.Refused}}, []launch.Where{{Status: campaign.Failed}}
			if _, err := launch.StartFollowUp(ctx, launch.FollowUpInput{Ledger: tells, Parent: parent, Where: refused}); err != nil {
				t.Fatal(err)
			}
			return func(l campaign.Ledger, _ brittleService) error {
				if b, ok := l.(brittle); ok {
					l = brittle{tells, b.fuse}
				} else {
					l = tells
				}
				got, err := launch.StartFollowUp(ctx, launch.FollowUpInput{Ledger: l, Parent: parent, Where: failed})
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
				_, err := launch.ReadUncertainty(ctx, l, run, 5, alwaysListening())
				return err
			}
		}},
		"lift suppressions": {2, false, func(*testing.T, campaign.Ledger) do {
			return func(l campaign.Ledger, _ brittleService) error {
				_, _, err := launch.LiftSuppressions(ctx, l, []string{"+2348031234501", "+2348031234502"}, "")
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
				_, err := launch.ImportSuppressions(ctx, l, launch.SuppressionFile{Path: path, Scope: campaign.ScopeAll})
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
				return launch.ExportSuppressions(ctx, l, brittleWriter{io.Discard, s.fuse})
			}
		}},
		"find the latest": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, _ campaign.Run) error {
			_, err := control.Find(ctx, l, "latest")
			return err
		})},
		"find": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, r campaign.Run) error {
			_, err := control.Find(ctx, l, r.ID())
			return err
		})},
		"pause": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, r campaign.Run) error {
			_, err := control.Pause(ctx, l, r, "")
			return err
		})},
		"go on": {1, false, controlled(campaign.Paused, func(l campaign.Ledger, r campaign.Run) error {
			_, err := control.Resume(ctx, l, r, "")
			return err
		})},
		"cancel": {1, false, controlled(campaign.Ready, func(l campaign.Ledger, r campaign.Run) error {
			_, err := control.Cancel(ctx, l, r, "")
			return err
		})},
		"approve": {2, true, controlled(campaign.WaitingApproval, func(l campaign.Ledger, r campaign.Run) error {
			_, err := control.Approve(ctx, l, r, "")
			return err
		})},
		"test message": {3, false, func(t *testing.T, _ campaign.Ledger) do {
			list := list(t)
			return func(_ campaign.Ledger, s brittleService) error {
				got, receipt, err := launch.SendTest(ctx, s, free(), launch.SampleInput{File: campaignFile, List: list}, "+2348031234567")
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
				if f.what == "Numbers" { // only a warning: nothing is sent until they can be asked
					if err != nil {
						t.Errorf("call %d, Numbers, failed: got %v, want nil", n, err)
					}
				} else if !errors.Is(err, errAway) {
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
