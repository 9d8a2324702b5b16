package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// breaking is a ledger that fails one append, before or after writing it.
type breaking struct {
	campaign.Ledger
	at     int
	after  bool
	err    error
	called int
}

func (b *breaking) AppendRows(ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery,
	segments []campaign.Segment) error {
	if b.called++; b.called != b.at {
		return b.Ledger.AppendRows(ctx, no, after, rows, segments)
	}
	if b.after {
		if err := b.Ledger.AppendRows(ctx, no, after, rows, segments); err != nil {
			return err
		}
	}
	return b.err
}

// bigList is a list of n rows in three zones; every tenth is a duplicate, every seventh has no
// name.
func bigList(n int) string {
	var b strings.Builder
	b.WriteString("phone,first_name,tz\n")
	// Lagos fills a segment at 8,000 rows
	zones := []string{"Africa/Lagos", "Africa/Lagos", "Africa/Lagos", "Europe/Paris", "Africa/Lagos", "Asia/Tokyo"}
	for i := range n {
		phone, name := i, "Ada"
		if i%10 == 9 {
			phone = i - 9
		}
		if i%7 == 6 {
			name = ""
		}
		fmt.Fprintf(&b, "+23480312%05d,%s,%s\n", phone, name, zones[i%6])
	}
	return b.String()
}

func TestAnInterruptedImportGoesOnWhereItStopped(t *testing.T) {
	const rows = 9_000
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(rows))
	whole := openLedger(t)
	run := newRun(t, whole, d, path)
	want, err := launch.Import(t.Context(), launch.ImportInput{Ledger: whole, Run: run, Definition: d, List: path})
	if err != nil {
		t.Fatal(err)
	}
	wantLines := lines(t, whole, run.No)
	if len(wantLines) != rows {
		t.Fatalf("got %d lines, want %d", len(wantLines), rows)
	}
	lost := errors.New("the disk is gone")
	for at := 1; at <= 5; at += 2 {
		for _, after := range []bool{false, true} {
			l := openLedger(t)
			run := newRun(t, l, d, path)
			_, err := launch.Import(t.Context(),
				launch.ImportInput{Ledger: &breaking{Ledger: l, at: at, after: after, err: lost}, Run: run, Definition: d, List: path})
			if !errors.Is(err, lost) {
				t.Fatalf("append %d: got %v, want %v", at, err, lost)
			}
			if run, err = l.Run(t.Context(), run.No); err != nil {
				t.Fatal(err)
			}
			var progress []int64
			got, err := launch.Import(t.Context(),
				launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Progress: func(n int64) { progress = append(progress, n) }})
			if err != nil {
				t.Fatalf("resumed after append %d: got %v, want nil", at, err)
			}
			if got.Rows != want.Rows || got.Queued != want.Queued || !cmp.Equal(got.Skipped, want.Skipped) {
				t.Errorf("append %d: got %+v, want %+v", at, got, want)
			}
			if n := len(progress); n > 0 && progress[n-1] != rows || n == 0 && run.Rows != rows {
				t.Errorf("progress = %v, want it to end at %d", progress, rows)
			}
			if err := l.FinishImport(t.Context(), run.No, got.Rows, campaign.Ready); err != nil {
				t.Fatal(err)
			}
			// The rows have the same seqs: none is lost, and none is there twice.
			if diff := cmp.Diff(plain(wantLines), plain(lines(t, l, run.No))); diff != "" {
				t.Fatalf("append %d, written %v: lines -want +got:\n%s", at, after, diff)
			}
			if problems, _, err := l.Audit(t.Context(), run.No, 5); err != nil || len(problems) > 0 {
				t.Errorf("audit: got %v, %v, want no problem", problems, err)
			}
		}
	}
}

func plain(all []campaign.Line) []string {
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = fmt.Sprint(l.Row, l.Seq, l.To, l.Key, l.Status, l.Reason)
	}
	return out
}

func TestALostCommitAnswerIsResolvedByTheRowCount(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(5000))
	for _, written := range []bool{false, true} {
		l := openLedger(t)
		run := newRun(t, l, d, path)
		counts, err := launch.Import(t.Context(),
			launch.ImportInput{Ledger: &breaking{Ledger: l, at: 2, after: written, err: campaign.ErrUnknownCommit},
				Run: run, Definition: d, List: path})
		if err != nil || counts.Rows != 5000 {
			t.Fatalf("written %v: got %+v, %v, want 5000 rows", written, counts, err)
		}
		if err := l.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
			t.Error(err)
		}
	}
}

func TestASecondImporterIsFenced(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(5000))
	l := openLedger(t)
	run := newRun(t, l, d, path)
	if _, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); err != nil {
		t.Fatal(err)
	}
	// This importer still believes that no row is imported.
	if _, err := launch.Import(t.Context(),
		launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); !errors.Is(err, campaign.ErrFenced) {
		t.Errorf("got %v, want %v", err, campaign.ErrFenced)
	}
}

func TestAListThatChangedFailsTheRun(t *testing.T) {
	d := messyCampaign(t)
	for name, change := range map[string]string{
		"other cell":   strings.Replace(bigList(5000), "Ada", "Eve", 1),
		"row more":     bigList(5000) + "+2348031299999,Zoe,Africa/Lagos\n",
		"other header": strings.Replace(bigList(5000), "first_name", "nick_name", 1),
		"no row left":  bigList(1),
	} {
		l := openLedger(t)
		path := writeFile(t, "big.csv", bigList(5000))
		run := newRun(t, l, d, path)
		if name == "no row left" { // an interrupted import has already written rows
			lost := errors.New("lost")
			if _, err := launch.Import(t.Context(),
				launch.ImportInput{Ledger: &breaking{Ledger: l, at: 2, err: lost}, Run: run, Definition: d, List: path}); !errors.Is(err, lost) {
				t.Fatal(err)
			}
			var err error
			if run, err = l.Run(t.Context(), run.No); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(change), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
		if !errors.Is(err, launch.ErrListChanged) {
			t.Errorf("%s: got %v, want %v", name, err, launch.ErrListChanged)
		}
		if run, err = l.Run(t.Context(), run.No); err != nil || run.State != campaign.RunStateFailed || run.Detail == "" {
			t.Errorf("%s: the run is %s %q, %v, want failed with a reason", name, run.State, run.Detail, err)
		}
	}
}

func TestACancelledImportStopsAndLeavesTheRunResumable(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(20_000))
	l := openLedger(t)
	run := newRun(t, l, d, path)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := launch.Import(ctx, launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if run, err = l.Run(t.Context(), run.No); err != nil || run.State != campaign.Importing || run.Rows == 20_000 {
		t.Fatalf("the run is %s with %d rows, %v, want importing with fewer than 20000", run.State, run.Rows, err)
	}
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
	if err != nil || counts.Rows != 20_000 {
		t.Errorf("resumed: got %+v, %v, want 20000 rows", counts, err)
	}
}
