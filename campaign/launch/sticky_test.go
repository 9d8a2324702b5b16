package launch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"

	"github.com/google/go-cmp/cmp"
)

// stickyCampaign is sent over these connections.
func stickyCampaign(t testing.TB, connections, more string) *file.Definition {
	t.Helper()
	return parse(t, strings.Replace(minimal, "[conn_1]", connections, 1)+"numbers: sticky\nrecipients: {validate: none}\n"+more)
}

// numberList is a list of the phone numbers from one to another.
func numberList(from, to int) string {
	var b strings.Builder
	b.WriteString("to\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "+234803%07d\n", i)
	}
	return b.String()
}

// reachedBy has a connection send to the numbers from one to another, in a run of its own that
// ends.
func reachedBy(t testing.TB, l campaign.Ledger, connection string, from, to int) {
	t.Helper()
	d := parse(t, minimal+"recipients: {validate: none}\n")
	path := writeFile(t, fmt.Sprintf("%s-%d.csv", connection, from), numberList(from, to))
	run := newRun(t, l, d, path)
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	counts, err := launch.Import(ctx, launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
	check(err)
	check(l.FinishImport(ctx, run.No, counts.Rows, campaign.Ready))
	for {
		leases, err := l.Claim(ctx, campaign.Claim{Owner: "a", Connection: connection, Runs: []campaign.RunNo{run.No}, Max: 1, Lease: time.Hour})
		check(err)
		if len(leases) == 0 {
			return
		}
		s := leases[0]
		_, err = l.Intend(ctx, []campaign.Intent{{Lease: s, Connection: connection, From: s.Lo, To: s.Hi}})
		check(err)
		ds, err := l.Deliveries(ctx, run.No, s.Lo, s.Hi)
		check(err)
		var results []campaign.Result
		for _, d := range ds {
			results = append(results, campaign.Result{Run: run.No, Seq: d.Seq, Connection: connection, Attempt: 1,
				Kind: campaign.ResultAccepted, At: time.Now(), MessageID: fmt.Sprint("wamid.", run.No, ".", d.Seq)})
		}
		check(l.Record(ctx, results))
		_, err = l.Park(ctx, s, time.Time{}, func(since time.Time) time.Time { return since })
		check(err)
	}
}

// boundTo tells by row which connection a run's import bound.
func boundTo(t testing.TB, l campaign.Ledger, no campaign.RunNo) map[int64]string {
	t.Helper()
	segments, err := l.SegmentStates(t.Context(), no)
	if err != nil {
		t.Fatal(err)
	}
	of := map[int64]string{}
	for _, s := range segments {
		of[s.Index] = s.Bound
	}
	bound := map[int64]string{}
	for _, line := range lines(t, l, no) {
		bound[line.Row] = of[line.Seq/campaign.SegmentSize]
	}
	return bound
}

// A recipient whom one of the campaign's numbers reached before is bound to it; one whom it did
// not, or whose number left the campaign, is not. An import that was interrupted goes on in the
// same way.
func TestStickyRowsAreBoundToTheirNumber(t *testing.T) {
	lost := errors.New("the disk is gone")
	d := stickyCampaign(t, "[conn_1, conn_2]", "")
	path := writeFile(t, "sticky.csv", numberList(0, 5000))
	var want []string
	for at := range 4 {
		l := openLedger(t)
		reachedBy(t, l, "conn_1", 0, 1500)
		reachedBy(t, l, "conn_2", 1000, 2500)
		reachedBy(t, l, "conn_3", 2400, 2600)
		run := newRun(t, l, d, path)
		if at > 0 {
			_, err := launch.Import(t.Context(),
				launch.ImportInput{Ledger: &breaking{Ledger: l, at: at, err: lost}, Run: run, Definition: d, List: path})
			if !errors.Is(err, lost) {
				t.Fatalf("append %d: got %v, want %v", at, err, lost)
			}
			if run, err = l.Run(t.Context(), run.No); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); err != nil {
			t.Fatal(err)
		}
		for row, got := range boundTo(t, l, run.No) {
			by := ""
			switch n := row - 1; {
			case n < 1000:
				by = "conn_1"
			case n < 2500:
				by = "conn_2"
			}
			if got != by {
				t.Fatalf("row %d is bound to %q, want %q", row, got, by)
			}
		}
		if all := plain(lines(t, l, run.No)); at == 0 {
			want = all
		} else if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("append %d: lines -want +got:\n%s", at, diff)
		}
	}
}

// With one connection, or without the key, nothing is bound.
func TestOnlyStickyCampaignsBindRows(t *testing.T) {
	l := openLedger(t)
	reachedBy(t, l, "conn_1", 0, 10)
	path := writeFile(t, "sticky.csv", numberList(0, 10))
	for i, d := range []*file.Definition{
		stickyCampaign(t, "[conn_1]", ""),
		parse(t, strings.Replace(minimal, "[conn_1]", "[conn_1, conn_2]", 1)+"numbers: spread\nrecipients: {validate: none}\n"),
	} {
		d.Name = fmt.Sprint("a", i)
		run := newRun(t, l, d, path)
		if _, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); err != nil {
			t.Fatal(err)
		}
		for row, by := range boundTo(t, l, run.No) {
			if by != "" {
				t.Errorf("%s: row %d is bound to %q, want to none", d.Name, row, by)
			}
		}
	}
}

// The canary of a sticky campaign is chosen from the whole list, and its rows are bound too.
func TestACanaryOfStickyRowsIsBound(t *testing.T) {
	l := openLedger(t)
	reachedBy(t, l, "conn_1", 0, 1000)
	d := stickyCampaign(t, "[conn_1, conn_2]", "policies: {canary: {count: 100}}\n")
	path := writeFile(t, "sticky.csv", numberList(0, 2000))
	run := newRun(t, l, d, path)
	if _, err := launch.Import(t.Context(),
		launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Sendable: 2000}); err != nil {
		t.Fatal(err)
	}
	segments, err := l.SegmentStates(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range segments {
		got[fmt.Sprintf("%q %v", s.Bound, s.AfterCanary)] += s.Hi - s.Lo
	}
	first := got[`"conn_1" false`] + got[`"" false`]
	if first != 100 || got[`"conn_1" false`] < 20 || got[`"conn_1" false`]+got[`"conn_1" true`] != 1000 {
		t.Errorf("rows by connection and canary: %v; want 100 of the canary, and 1000 bound to conn_1, 20 and more of them of the canary", got)
	}
}

// A check counts whom each number reached, and suppressed recipients not.
func TestACheckCountsWhomEachNumberReached(t *testing.T) {
	l := openLedger(t)
	reachedBy(t, l, "conn_1", 0, 1500)
	reachedBy(t, l, "conn_2", 1500, 2000)
	stop := campaign.Suppression{Key: 2348030000000, Scope: campaign.ScopeAll, Source: "operator"}
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{stop}); err != nil {
		t.Fatal(err)
	}
	d := stickyCampaign(t, "[conn_1, conn_2]", "")
	p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: d, File: "a.yaml", Source: []byte(minimal),
		List: writeFile(t, "sticky.csv", numberList(0, 3000)), Suppressions: l, Reached: l})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"conn_1": 1499, "conn_2": 500}, p.Bound); diff != "" {
		t.Errorf("bound -want +got:\n%s", diff)
	}
}
