package launch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// A launch names the missing file and stores no run.
func TestALaunchNamesTheMissingFile(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	path := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile)
	l := openLedger(t)
	for name, c := range map[string]launch.Request{
		"campaign": {File: none, List: none}, "list": {File: path, List: none},
		"list of a firing": {File: path, List: none, Key: campaign.FiringKey + "x"}, "list of another run": {File: path, List: none, New: true},
	} {
		c.Ledger, c.Service = l, service()
		_, err := c.Start(t.Context())
		var list *recipients.FileError
		if named := errors.As(err, &list); name == "campaign" && !errors.Is(err, os.ErrNotExist) || name != "campaign" && !named {
			t.Errorf("%s: got %v, want that there is no such file", name, err)
		}
	}
	if runs, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 0 {
		t.Errorf("%d runs are stored, %v, want none", len(runs), err)
	}
	firing, run, _ := importing(t, campaign.FiringKey+"x")
	if err := os.Remove(firing.List); err != nil {
		t.Fatal(err)
	}
	var list *recipients.FileError
	if got, err := firing.Start(t.Context()); !errors.As(err, &list) || !got.Resumed {
		t.Errorf("an interrupted import without its list: got %+v, %v, want it resumed and a *recipients.FileError", got, err)
	}
	run.Definition = []byte("name: a b\n")
	var bad *file.Error
	if _, err := firing.Resume(t.Context(), run); !errors.As(err, &bad) ||
		!strings.HasPrefix(err.Error(), "the stored campaign of spring-sale-1: ") {
		t.Errorf("a stored campaign that cannot be read: got %v, want a *FileError of spring-sale-1", err)
	}
}

// taken is a ledger in which another process holds the jobs for the first calls.
type taken struct {
	campaign.Ledger
	tries int // calls that find the job taken
	began time.Time
	asked []time.Duration
}

func (l *taken) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	l.asked = append(l.asked, time.Since(l.began))
	if len(l.asked) <= l.tries {
		return campaign.JobLease{}, false, nil
	}
	return l.Ledger.AcquireJob(ctx, name, owner, d)
}

// A launch checks again and again whether the other importer has finished, in the end every second,
// and stops waiting when its context ends.
func TestALaunchWaitsForAnotherImporter(t *testing.T) {
	const ms = time.Millisecond
	asked := []time.Duration{0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 2550 * ms, 3550 * ms}
	for name, c := range map[string]struct {
		nowait  bool
		timeout time.Duration
		asked   []time.Duration
		want    error
	}{
		"until it is done":    {false, time.Minute, asked[:8], nil},
		"not at all":          {true, time.Minute, []time.Duration{0}, campaign.ErrTaken},
		"until it is stopped": {false, 1000 * time.Millisecond, asked[:5], context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			launch, run, _ := importing(t, "")
			l := &taken{Ledger: launch.Ledger.(campaign.Ledger), tries: 7, began: time.Now()}
			launch.Ledger, launch.NoWait = l, c.nowait
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			got, err := launch.Resume(ctx, run)
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || !got.Imported) {
				t.Errorf("%s: got %+v, %v, want %v", name, got, err, c.want)
			}
			if diff := cmp.Diff(c.asked, l.asked); diff != "" {
				t.Errorf("%s: asked -want +got:\n%s", name, diff)
			}
		})
	}
}

// unsure is a ledger that loses the result of the commit of its first appends.
type unsure struct {
	campaign.Ledger
	unknown int  // number of appends that end like that
	written bool // these appends are written
	other   bool // another importer appends instead
	called  int
}

func (u *unsure) AppendRows(
	ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment,
) error {
	if u.called++; u.called > u.unknown {
		return u.Ledger.AppendRows(ctx, no, after, rows, segments)
	}
	if u.other {
		rows, segments[0].Hi = rows[:1], segments[0].Lo+1
		segments = segments[:1]
	}
	if u.written || u.other {
		if err := u.Ledger.AppendRows(ctx, no, after, rows, segments); err != nil {
			return err
		}
	}
	return campaign.ErrUnknownCommit
}

// A commit whose result was lost is tried three times. Rows that were written are not written
// again.
func TestAnUnknownCommitIsTriedThreeTimes(t *testing.T) {
	d := parse(t, minimal)
	path := writeFile(t, "list.csv", "to\n+2348031234501\n+2348031234502\n")
	for name, c := range map[string]struct {
		l      unsure
		called int
		want   error
	}{
		"once, written": {unsure{unknown: 1, written: true}, 1, nil}, "once": {unsure{unknown: 1}, 2, nil}, "twice": {unsure{unknown: 2}, 3, nil},
		"three times": {unsure{unknown: 3}, 3, campaign.ErrUnknownCommit}, "by another": {unsure{unknown: 1, other: true}, 1, campaign.ErrFenced},
	} {
		l := c.l
		l.Ledger = openLedger(t)
		run := newRun(t, l.Ledger, d, path)
		_, err := launch.Import(t.Context(), launch.ImportInput{Ledger: &l, Run: run, Definition: d, List: path})
		if !errors.Is(err, c.want) || c.want == nil && err != nil || l.called != c.called {
			t.Errorf("%s: got %v after %d appends, want %v after %d", name, err, l.called, c.want, c.called)
		}
		if err != nil {
			continue
		}
		if now, err := l.Ledger.Run(t.Context(), run.No); err != nil || now.Rows != 2 {
			t.Errorf("%s: %d rows are stored, %v, want 2", name, now.Rows, err)
		}
	}
}

// A chunk ends at 2,000 rows, or when its cells exceed 8 MiB.
func TestAChunkEndsAtItsRowsAndItsBytes(t *testing.T) {
	d := parse(t, minimal+"recipients: {validate: possible}\n")
	for name, c := range map[string]struct {
		rows, wide int
		want       []int64
	}{
		"1,999 rows": {1999, 0, []int64{1999}}, "2,000 rows": {2000, 0, []int64{2000}}, "2,001 rows": {2001, 0, []int64{2000, 2001}},
		// 16 rows of 512 KiB, of which 14 bytes are the number, are not more than 8 MiB. With a byte more
		// in each row, they are.
		"8 MiB": {18, 512<<10 - 14, []int64{17, 18}}, "more than 8 MiB": {18, 512<<10 - 13, []int64{16, 18}},
	} {
		var b strings.Builder
		b.WriteString("to,note\n")
		for i := range c.rows {
			b.WriteString("+2348031" + string(rune('2'+i/1000%8)) + string(rune('0'+i/100%10)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)) +
				"12," + strings.Repeat("x", c.wide) + "\n")
		}
		path := writeFile(t, "list.csv", b.String())
		l := openLedger(t)
		var got []int64
		if _, err := launch.Import(t.Context(),
			launch.ImportInput{Ledger: l, Run: newRun(t, l, d, path), Definition: d, List: path,
				Progress: func(n int64) { got = append(got, n) }}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: progress -want +got:\n%s", name, diff)
		}
	}
}

// An interrupted follow-up run continues with the rows that it does not have yet, also when a
// webhook has proven some of the parent's rows since.
func TestAnInterruptedFollowUpGoesOn(t *testing.T) {
	outcomes := make([]campaign.Line, 4500)
	for i := range outcomes {
		outcomes[i] = campaign.Line{Status: campaign.Failed, Code: "1"}
	}
	l, parent := endedRun(t, "", outcomes...)
	lost := errors.New("lost")
	failing := launch.FollowUpInput{Ledger: &breaking{Ledger: l, at: 2, err: lost}, Parent: parent,
		Where: []launch.Where{{Status: campaign.Failed}}}
	if _, err := launch.StartFollowUp(t.Context(), failing); !errors.Is(err, lost) {
		t.Fatalf("got %v, want %v", err, lost)
	}
	l.lines[7].Status, l.lines[3000].Status = campaign.Read, campaign.Delivered
	appending := &breaking{Ledger: l} // counts
	again := launch.FollowUpInput{Ledger: appending, Parent: parent, Where: failing.Where}
	got, err := launch.StartFollowUp(t.Context(), again)
	if err != nil || got.Existed || got.Chosen != 4499 || got.Run.State != campaign.Ready {
		t.Errorf("got %d chosen, %v, %s, %v, want 4499, ready", got.Chosen, got.Existed, got.Run.State, err)
	}
	if appending.called != 2 {
		t.Errorf("appended %d times, want 2: the rows 2001 to 4000, and the rest", appending.called)
	}
	seen := map[int64]bool{}
	for i, line := range lines(t, l.Ledger, got.Run.No) {
		if seen[line.Key] || line.Row != int64(i+1) || line.Key == l.lines[3000].Key {
			t.Fatalf("row %d is row %d of %d, want each number once and none that was delivered", i+1, line.Row, line.Key)
		}
		seen[line.Key] = true
	}
}

// A row that another follow-up run skipped was not sent, so it may be chosen again.
func TestARowSkippedElsewhereMayBeChosen(t *testing.T) {
	l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "1"}, campaign.Line{Status: campaign.Refused})
	first, err := follow(l, parent, "failed=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Cancel(t.Context(), l, first.Run, ""); err != nil {
		t.Fatal(err)
	}
	claim := campaign.Claim{Owner: "a", Runs: []campaign.RunNo{first.Run.No}, Cancelled: true, Max: 1, Lease: time.Hour}
	leases, err := l.Claim(t.Context(), claim)
	if err != nil || len(leases) != 1 {
		t.Fatalf("claimed %v, %v, want one segment", leases, err)
	}
	if _, err := l.SkipQueued(t.Context(), leases[0], campaign.RunCancelled); err != nil {
		t.Fatal(err)
	}
	got, err := follow(l, parent, "failed")
	if err != nil || got.Chosen != 1 || got.Elsewhere != 0 {
		t.Errorf("got %d chosen, %d elsewhere, %v, want 1 and none", got.Chosen, got.Elsewhere, err)
	}
}

// silent is a ledger that cannot read a run.
type silent struct{ campaign.Ledger }

func (silent) Run(context.Context, campaign.RunNo) (campaign.Run, error) {
	return campaign.Run{}, errAway
}

// An import that cannot read its input returns why. Its run stays in state importing and can be
// imported again.
func TestAnImportSaysWhyItCannotEnd(t *testing.T) {
	const list = "to,name\n+2348031234501,Ada\n+2348031234502,Bola\n"
	for name, c := range map[string]struct {
		definition, list string
		stored           func(campaign.Ledger) campaign.Ledger
		remove           bool
		want             func(error) bool
	}{
		"a quote without end": {minimal, list + "+2348031234503,\"Eve\n", nil, false, func(err error) bool {
			var bad *recipients.FileError
			return errors.As(err, &bad) && bad.Line == 4
		}},
		"no list": {minimal, list, nil, true, func(err error) bool {
			var bad *recipients.FileError
			return errors.As(err, &bad)
		}},
		"a variable without a column": {strings.Replace(minimal, "en_US", `en_US, body: ["{{ .first }}"]`, 1), list, nil,
			false, func(err error) bool {
				var bad *file.Error
				return errors.As(err, &bad) && strings.Contains(err.Error(), `no column "first"`)
			}},
		"an unknown commit that cannot be looked for": {minimal, list, func(l campaign.Ledger) campaign.Ledger {
			return silent{&unsure{Ledger: l, unknown: 1}}
		}, false, func(err error) bool { return errors.Is(err, campaign.ErrUnknownCommit) && errors.Is(err, errAway) }},
	} {
		l, d := openLedger(t), parse(t, c.definition)
		path := writeFile(t, "list.csv", c.list)
		run, stored := newRun(t, l, d, path), l
		if c.stored != nil {
			stored = c.stored(l)
		}
		if c.remove {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := launch.Import(t.Context(),
			launch.ImportInput{Ledger: stored, Run: run, Definition: d, List: path}); err == nil || !c.want(err) {
			t.Errorf("%s: got %v, want the error of that", name, err)
		}
		if now, err := l.Run(t.Context(), run.No); err != nil || now.State != campaign.Importing {
			t.Errorf("%s: the run is %s (%v), want %s", name, now.State, err, campaign.Importing)
		}
	}
}

// late is a ledger in which another process always creates the same run first.
type late struct{ campaign.Ledger }

func (l late) CreateRun(ctx context.Context, r campaign.Run) (campaign.Run, error) {
	if _, err := l.Ledger.CreateRun(ctx, r); err != nil {
		return campaign.Run{}, err
	}
	return l.Ledger.CreateRun(ctx, r)
}

// Two processes launch one list at the same time: the second continues the run of the first.
func TestTheSecondOfTwoLaunchesContinuesTheRun(t *testing.T) {
	dir, l := t.TempDir(), openLedger(t)
	file, list := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile), overwrite(t, filepath.Join(dir, "list.csv"), springList)
	got, err := launch.Request{Ledger: late{l}, Service: service(), File: file, List: list}.Start(t.Context())
	if err != nil || !got.Resumed || !got.Imported || got.Run.No != 1 {
		t.Errorf("got %+v, %v, want run 1 resumed and imported", got, err)
	}
	if err := whole(t, l, got.Run, 8); err != nil {
		t.Error(err)
	}
	if runs, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 1 {
		t.Errorf("%d runs (%v), want 1", len(runs), err)
	}
}
