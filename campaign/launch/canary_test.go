package launch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// canaryList is a list of n rows.
func canaryList(n int) string {
	var b strings.Builder
	b.WriteString("to\n")
	for i := range n {
		fmt.Fprintf(&b, "+234803%07d\n", i)
	}
	return b.String()
}

// importCanary imports 6,000 rows with a canary of 100, and stops after stop rows the first time.
func importCanary(t *testing.T, l campaign.Ledger, stop int64) (run campaign.Run, first map[int64]bool) {
	t.Helper()
	return importCanaryOf(t, l, canaryList(6000), stop)
}

// importCanaryOf is importCanary of a list with 6,000 rows that can be sent.
func importCanaryOf(t *testing.T, l campaign.Ledger, list string, stop int64) (run campaign.Run, first map[int64]bool) {
	t.Helper()
	d := parse(t, strings.Replace(minimal, "[conn_1]", "[conn_1, conn_2]", 1)+
		"recipients: {validate: none}\npolicies: {canary: {count: 100, max_failed: 0.02, wait: 1s}}\n")
	path := writeFile(t, "canary.csv", list)
	run = newRun(t, l, d, path)
	in := launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Sendable: 6000}
	if stop > 0 {
		ctx, cancel := context.WithCancel(t.Context())
		in.Progress = func(rows int64) {
			if rows >= stop {
				cancel()
			}
		}
		if _, err := launch.Import(ctx, in); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted: %v, want Canceled", err)
		}
		var err error
		if in.Run, err = l.Run(t.Context(), run.No); err != nil {
			t.Fatal(err)
		}
		in.Progress = nil
	}
	if _, err := launch.Import(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, int64(strings.Count(list, "\n")-1), campaign.Ready); err != nil {
		t.Fatal(err)
	}
	segments, err := l.SegmentStates(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	of := map[int64]campaign.SegmentState{}
	for _, s := range segments {
		of[s.Index] = s
		if !s.AfterCanary && !s.Closed && s.Hi-s.Lo > 50 {
			t.Errorf("a segment of the canary has %d rows, want at most 50: half for each connection", s.Hi-s.Lo)
		}
	}
	first = map[int64]bool{}
	for _, line := range lines(t, l, run.No) {
		if !of[line.Seq/campaign.SegmentSize].AfterCanary && line.Status != campaign.Skipped {
			first[line.Row] = true
		}
	}
	if run, err = l.Run(t.Context(), run.No); err != nil {
		t.Fatal(err)
	}
	return run, first
}

// The canary is a sample of the whole list, of the size that was asked for, and another one for
// another run. An import that was interrupted goes on with it.
func TestACanaryIsChosenFromTheWholeList(t *testing.T) {
	var before map[int64]bool
	for run, stop := range []int64{0, 4000} {
		l := openLedger(t)
		for range run { // the second run has another number
			if _, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "other", ListHash: "x", Definition: []byte(minimal)}); err != nil {
				t.Fatal(err)
			}
		}
		_, first := importCanary(t, l, stop)
		if len(first) != 100 {
			t.Errorf("the canary has %d rows, want 100", len(first))
		}
		thirds, same := [3]int{}, 0
		for row := range first {
			thirds[(row-1)/2000]++
			if before[row] {
				same++
			}
		}
		for i, n := range thirds {
			if math.Abs(float64(n)-33) > 22 {
				t.Errorf("third %d of the list has %d rows of the canary, want about 33", i+1, n)
			}
		}
		if same > 20 {
			t.Errorf("%d rows are of the canary of two runs, want few", same)
		}
		before = first
	}
}

// Rows that are skipped are in segments of their own, and none of them is of the canary.
func TestSkippedRowsTakeNoPlaceInTheCanary(t *testing.T) {
	list := canaryList(6000)
	rows := strings.SplitAfter(list, "\n")
	again := strings.Join(rows[1:301], "") // 300 duplicates before the import stops
	list = strings.Join(rows[:1001], "") + again + strings.Join(rows[1001:], "")
	if _, first := importCanaryOf(t, openLedger(t), list, 4000); len(first) != 100 {
		t.Errorf("the canary has %d rows after an interrupted import, want 100", len(first))
	}
}

// tallied is a ledger with other counts.
type tallied struct {
	campaign.Ledger
	tallies []campaign.Tally
}

func (l tallied) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return l.tallies, campaign.Funnel{}, nil
}

// verdictOf asks for the verdict on a canary until it comes.
func verdictOf(t *testing.T, l campaign.Ledger, run campaign.Run, least float64) (v launch.CanaryVerdict) {
	t.Helper()
	policy := &file.Canary{Count: 100, MaxFailed: 0.02, MinDelivered: least, Wait: campaign.Duration(time.Millisecond)}
	for end := time.Now().Add(4 * time.Minute); v.Sentence == "" && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var err error
		if v, err = launch.CheckCanary(t.Context(), l, run, policy, "a"); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// restored is a ledger with the rows of which a quarantine made doubts.
type restored struct {
	tallied
	rows int
}

func (l restored) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for range l.rows {
			yield(campaign.Line{Status: campaign.Unknown, Reason: campaign.Restored}, nil)
		}
		yield(campaign.Line{Status: campaign.Unknown, Reason: "timeout"}, nil)
		yield(campaign.Line{Status: campaign.InDoubt, Reason: campaign.Restored}, nil)
	}
}

// Perhaps what a quarantine put in doubt was never sent, so it is no failure of the template.
func TestADoubtOfAQuarantineIsNoFailureOfTheCanary(t *testing.T) {
	for _, c := range []struct {
		delivered, unknown int64
		restored           int
		paused             bool
		want               string
	}{
		{97, 3, 3, false, "0 of 97 failed, 97 of the 97 accepted were reported delivered"},
		{95, 5, 2, true, "3 of the 98 messages of its canary failed (3 x unknown): 3.1 %, and at most 2.0 % may; resume sends the other 5900"},
		{0, 100, 100, true, "the ledger went back in time, so nobody knows whether any message of its canary was sent; " +
			"resume sends the other 5900"},
	} {
		l := openLedger(t)
		run, _ := importCanary(t, l, 0)
		counted := tallied{l, []campaign.Tally{{Status: campaign.Queued, N: 5900}, {Status: campaign.Delivered, N: c.delivered},
			{Status: campaign.Unknown, N: c.unknown}}}
		if v := verdictOf(t, restored{counted, c.restored}, run, 0); v.Paused != c.paused || v.Released == c.paused || v.Sentence != c.want {
			t.Errorf("%d of %d unknown ones are of the quarantine: got %+v, want paused %v: %s", c.restored, c.unknown, v, c.paused, c.want)
		}
	}
}

func TestUnknownIsAFailureOfTheCanary(t *testing.T) {
	for status, paused := range map[campaign.Status]bool{campaign.Unknown: true, campaign.Failed: true, campaign.Refused: true,
		campaign.Sent: false, campaign.Read: false, campaign.Skipped: false} {
		l := openLedger(t)
		run, _ := importCanary(t, l, 0)
		counted := tallied{l, []campaign.Tally{{Status: campaign.Queued, N: 5900}, {Status: campaign.Delivered, N: 97}, {Status: status, N: 3}}}
		if v := verdictOf(t, counted, run, 0); v.Paused != paused || v.Released == paused {
			t.Errorf("3 of 100 are %s: got %+v, want paused %v", status, v, paused)
		}
	}
}

// sendCanary claims all segments that can be claimed, and lets each message be accepted or fail.
func sendCanary(t *testing.T, l campaign.Ledger, run campaign.Run, failed int) (n int) {
	t.Helper()
	leases, err := l.Claim(t.Context(), campaign.Claim{
		Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 100, Lease: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	var results []campaign.Result
	var statuses []campaign.StatusEvent
	now := time.Now()
	for _, s := range leases {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Lo, To: s.Hi}})
		if err != nil || g[0].To != s.Hi {
			t.Fatalf("intent: %+v, %v; want To %d", g, err, s.Hi)
		}
		for seq := s.Lo; seq < s.Hi; seq++ {
			id := fmt.Sprintf("wamid.%d.%d", run.No, seq)
			results = append(results, campaign.Result{Run: run.No, Seq: seq, Connection: "conn_1", Attempt: 1,
				Kind: campaign.ResultAccepted, At: now, MessageID: id})
			if n++; n <= failed {
				statuses = append(statuses, campaign.StatusEvent{MessageID: id, Connection: "conn_1", Status: campaign.Failed, Code: "131026",
					At: now, ReceivedAt: now})
			}
		}
	}
	if err := l.Record(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: statuses}); err != nil {
		t.Fatal(err)
	}
	return n
}

// Nothing but the canary is sent before its verdict, which waits for all answers and then for the
// statuses. Too many failures pause the run until an operator resumes it.
func TestTheRestOfAListWaitsForItsCanary(t *testing.T) {
	for _, c := range []struct {
		failed   int
		paused   bool
		sentence string
	}{
		{2, false, "2 of 100 failed, 0 of the 100 accepted were reported delivered"},
		{3, true, "3 of the 100 messages of its canary failed (3 x 131026): 3.0 %, and at most 2.0 % may; resume sends the other 5900"},
	} {
		l := openLedger(t)
		run, _ := importCanary(t, l, 0)
		policy := &file.Canary{Count: 100, MaxFailed: 0.02, Wait: campaign.Duration(50 * time.Millisecond)}
		judge := func() launch.CanaryVerdict {
			t.Helper()
			now, err := l.Run(t.Context(), run.No)
			if err != nil {
				t.Fatal(err)
			}
			v, err := launch.CheckCanary(t.Context(), l, now, policy, "a")
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if v := judge(); v.Released || v.Paused || v.Waiting != 5900 {
			t.Errorf("before anything was sent: %+v, want 5900 that wait", v)
		}
		if n := sendCanary(t, l, run, c.failed); n != 100 {
			t.Fatalf("%d messages could be sent, want the 100 of the canary", n)
		}
		if v := judge(); v.Released || v.Paused {
			t.Errorf("before the statuses came: %+v, want no verdict", v)
		}
		if n := sendCanary(t, l, run, 0); n != 0 {
			t.Errorf("%d more messages could be sent before the verdict, want none", n)
		}
		v := launch.CanaryVerdict{}
		for end := time.Now().Add(4 * time.Minute); v.Sentence == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			v = judge()
		}
		if v.Released == c.paused || v.Paused != c.paused || v.Sentence != c.sentence {
			t.Errorf("verdict %+v, want paused %v: %s", v, c.paused, c.sentence)
		}
		now, err := l.Run(t.Context(), run.No)
		if err != nil {
			t.Fatal(err)
		}
		if c.paused {
			if now.State != campaign.Paused || now.Reason != campaign.PausedByCanary || now.Detail != c.sentence {
				t.Errorf("the run is %s (%s): %s; want paused by its canary", now.State, now.Reason, now.Detail)
			}
			if _, err := control.Resume(t.Context(), l, now, ""); err != nil {
				t.Fatal(err)
			}
		}
		if v := judge(); v != (launch.CanaryVerdict{}) {
			t.Errorf("after the verdict: %+v, want nothing to judge", v)
		}
		if n := sendCanary(t, l, run, 0); n != 5900 {
			t.Errorf("%d messages could be sent after the verdict, want the other 5900", n)
		}
	}
}

// brief is a ledger that counts as a test says, and on which an hour is short.
type brief struct {
	tallied
	asked map[string]time.Duration
}

func (l brief) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	l.asked[strings.TrimRight(name, " 0123456789")] = d
	if d == time.Hour {
		d = 200 * time.Millisecond
	}
	return l.Ledger.AcquireJob(ctx, name, owner, d)
}

func (l brief) RenewJob(ctx context.Context, lease campaign.JobLease, _ time.Duration) (campaign.JobLease, error) {
	return l.Ledger.RenewJob(ctx, lease, time.Millisecond)
}

// The platform may hold the messages of a canary for an hour without a word. That is no success.
func TestACanaryWaitsAnHourForDeliveries(t *testing.T) {
	for _, c := range []struct {
		delivered int64
		least     float64
		want      string
	}{
		{0, 0.5, "only 0 of the 96 accepted messages of its canary were reported delivered within 1h0m0.001s after the last answer, and at " +
			"least 50.0 % must be (policies.canary.min_delivered); no event has come about 95 of them; resume sends the other 5900"},
		{47, 0.5, "only 47 of the 96 accepted messages of its canary were reported delivered within 1h0m0.001s after the last answer, and at " +
			"least 50.0 % must be (policies.canary.min_delivered); no event has come about 48 of them; resume sends the other 5900"},
		{48, 0.5, ""}, {0, 0, ""},
	} {
		db := openLedger(t)
		run, _ := importCanary(t, db, 0)
		l := brief{tallied{db, []campaign.Tally{{Status: campaign.Queued, N: 5900}, {Status: campaign.Delivered, N: c.delivered},
			{Status: campaign.Accepted, N: 95 - c.delivered}, {Status: campaign.Failed, N: 1}, {Status: campaign.Skipped, N: 4}}},
			map[string]time.Duration{}}
		began := time.Now()
		v := verdictOf(t, l, run, c.least)
		if c.want == "" {
			if !v.Released || v.Paused {
				t.Errorf("%d delivered, at least %g: got %+v, want the rest released", c.delivered, c.least, v)
			}
			continue
		}
		if !v.Paused || v.Sentence != c.want || time.Since(began) < 200*time.Millisecond || l.asked["canary deliveries"] != time.Hour {
			t.Errorf("%d delivered, at least %g: got %+v after %s, %v; want a pause after an hour: %s", c.delivered, c.least, v,
				time.Since(began), l.asked, c.want)
		}
	}
}

func TestACanaryOfSkippedRowsShowsNothing(t *testing.T) {
	for reason, paused := range map[campaign.SkipReason]bool{campaign.OptedOut: true, campaign.Expired: false} {
		l := openLedger(t)
		run, _ := importCanary(t, l, 0)
		counted := tallied{l, []campaign.Tally{{Status: campaign.Queued, N: 5900}, {Status: campaign.Skipped, Reason: string(reason), N: 100}}}
		if v := verdictOf(t, counted, run, 0.5); v.Paused != paused || v.Released == paused {
			t.Errorf("all are skipped (%s): got %+v, want paused %v", reason, v, paused)
		}
	}
}
