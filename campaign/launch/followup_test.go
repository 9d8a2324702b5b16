package launch_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/reception"
)

// fixedRows is a ledger that shows the rows of a test as those of one run.
type fixedRows struct {
	campaign.Ledger
	no    campaign.RunNo
	lines []campaign.Line
}

func (l *fixedRows) Listened(context.Context, time.Time) ([]reception.Span, error) {
	return []reception.Span{{Since: time.Unix(0, 0), Until: time.Now()}}, nil
}

func (l *fixedRows) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	if no != l.no {
		return l.Ledger.Lines(ctx, no)
	}
	return func(yield func(campaign.Line, error) bool) {
		for _, line := range l.lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// endedRun is a finished run with these outcomes; rows and phones are numbered from 1.
func endedRun(t *testing.T, extra string, outcomes ...campaign.Line) (*fixedRows, campaign.Run) {
	t.Helper()
	return endedRunIn(t, openLedger(t), "00", extra, outcomes...)
}

// endedRunIn is endedRun in a ledger that has other runs; hash is that of its list.
func endedRunIn(t *testing.T, l campaign.Ledger, hash, extra string, outcomes ...campaign.Line) (*fixedRows, campaign.Run) {
	t.Helper()
	source := minimal + extra
	run, err := l.CreateRun(t.Context(),
		campaign.Run{Campaign: "a", ListHash: hash, ListName: "l.csv", Definition: []byte(source), Header: []string{"to"},
			Template: "hello_world", Language: "en_US", Marketing: true, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, 0, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
		t.Fatal(err)
	}
	if run, err = l.Run(t.Context(), run.No); err != nil {
		t.Fatal(err)
	}
	for i := range outcomes {
		n := int64(i + 1)
		outcomes[i].Run, outcomes[i].Row, outcomes[i].Seq, outcomes[i].Key = run.No, n, n-1, 2348031234500+n
		outcomes[i].To, outcomes[i].Cells = "+2348031234501"[:12]+"0"+string(rune('0'+n%10)), []string{"cell"}
	}
	return &fixedRows{l, run.No, outcomes}, run
}

func follow(l *fixedRows, run campaign.Run, where ...string) (launch.FollowedUp, error) {
	in := launch.FollowUpInput{Ledger: l, Parent: run}
	for _, w := range where {
		parsed, err := launch.ParseWhere(w)
		if err != nil {
			return launch.FollowedUp{}, err
		}
		in.Where = append(in.Where, parsed)
	}
	return launch.StartFollowUp(context.Background(), in)
}

// A commit whose result was lost may have written the rows. They are not written again.
func TestAFollowUpRunHasEachRowOnceAfterAnUnknownCommit(t *testing.T) {
	for _, written := range []bool{true, false} {
		l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed}, campaign.Line{Status: campaign.Failed})
		l.Ledger = &unsure{Ledger: l.Ledger, unknown: 1, written: written}
		got, err := follow(l, parent, "failed")
		if err != nil || got.Run.Rows != 2 || got.Run.State != campaign.Ready {
			t.Errorf("written %v: got %d rows, %s, %v, want 2 rows and ready", written, got.Run.Rows, got.Run.State, err)
		}
	}
}

// A segment is sent over one connection: a follow-up of one segment would leave the others idle.
func TestAFollowUpSpreadsLikeALaunch(t *testing.T) {
	outcomes := make([]campaign.Line, 300)
	for i := range outcomes {
		outcomes[i].Status = campaign.Failed
	}
	l, run := endedRun(t, "", outcomes...)
	f, err := follow(l, run, "failed")
	if err != nil {
		t.Fatal(err)
	}
	segments, err := l.SegmentStates(t.Context(), f.Run.No)
	if want := campaign.SegmentFor(300, 1); err != nil || len(segments) != 4 || segments[0].Hi-segments[0].Lo != want {
		t.Errorf("got %+v and %v, want 4 segments of %d rows", segments, err, want)
	}
}

func TestOnlyRowsThatMayBeSentAgainCanBeChosen(t *testing.T) {
	for s, want := range map[string]launch.Where{
		"failed": {Status: campaign.Failed}, "failed=131049": {Status: campaign.Failed, Detail: "131049"}, "refused": {Status: campaign.Refused},
		"refused=send_media": {Status: campaign.Refused, Detail: "send_media"}, "unknown": {Status: campaign.Unknown},
		"skipped":               {Status: campaign.Skipped},
		"skipped=frequency_cap": {Status: campaign.Skipped, Detail: "frequency_cap"},
		"skipped=over_limit":    {Status: campaign.Skipped, Detail: "over_limit"},
		"skipped=holdout":       {Status: campaign.Skipped, Detail: "holdout"}, "skipped=expired": {Status: campaign.Skipped, Detail: "expired"},
		"skipped=run_failed": {Status: campaign.Skipped, Detail: "run_failed"},
		"skipped=cancelled":  {Status: campaign.Skipped, Detail: "cancelled"},
		"unknown=time_out":   {Status: campaign.Unknown, Detail: "time_out"},
	} {
		got, err := launch.ParseWhere(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("ParseWhere(%q) = %+v (%s), %v, want %+v", s, got, got, err, want)
		}
	}
	for s, want := range map[string]string{
		"failed=": "names no code", "refused=": "names no code", "unknown=": "names no code",
		"skipped=": "cannot be sent", "skipped=duplicate": "cannot be sent",
		"skipped=opted_out":  "only those may be that were skipped for cancelled, expired, frequency_cap, holdout, over_limit, run_failed",
		"skipped=suppressed": "cannot be sent", "skipped=blocked": "cannot be sent", "skipped=invalid_phone": "cannot be sent",
		"queued": "chooses no rows that may be sent again", "sent": "chooses no rows", "accepted": "chooses no rows",
		"delivered": "chooses no rows", "read": "chooses no rows", "in_doubt": "chooses no rows", "": "chooses no rows",
	} {
		if got, err := launch.ParseWhere(s); err == nil || !strings.Contains(err.Error(), want) || got != (launch.Where{}) {
			t.Errorf("ParseWhere(%q) = %+v, %v, want %q", s, got, err, want)
		}
	}
}

func TestAFollowUpHasEachChosenRowOnce(t *testing.T) {
	long := time.Now().Add(-25 * time.Hour)
	outcomes := func() []campaign.Line {
		return []campaign.Line{
			{Status: campaign.Failed, Code: "131049", FailedAt: long}, {Status: campaign.Failed, Code: "131026"},
			{Status: campaign.Refused, Code: "send_media"}, {Status: campaign.Refused},
			{Status: campaign.Unknown, Reason: "time_out"}, {Status: campaign.Unknown, Reason: "accepted_no_id"},
			{Status: campaign.Unknown, Code: "accepted_no_id"},
			{Status: campaign.Skipped, Reason: "expired"}, {Status: campaign.Skipped, Reason: "duplicate"},
			{Status: campaign.Skipped, Reason: "opted_out"}, {Status: campaign.Skipped, Reason: "cancelled"},
			{Status: campaign.Read}, {Status: campaign.InDoubt}, {Status: campaign.Queued},
		}
	}
	for name, c := range map[string]struct {
		where    []string
		rows     []int64
		noID     int64
		released int64
	}{
		"failed": {[]string{"failed"}, []int64{1, 2}, 0, 0}, "one code": {[]string{"failed=131026"}, []int64{2}, 0, 0},
		"refused":     {[]string{"refused"}, []int64{3, 4}, 0, 0},
		"one refusal": {[]string{"refused=send_media"}, []int64{3}, 0, 0}, "unknown": {[]string{"unknown"}, []int64{5}, 2, 0},
		"one doubt":                     {[]string{"unknown=time_out"}, []int64{5}, 0, 0},
		"accepted, and named":           {[]string{"unknown=accepted_no_id"}, []int64{6, 7}, 0, 2},
		"accepted, and the other named": {[]string{"unknown", "unknown=not_the_service"}, []int64{5}, 2, 0},
		"accepted, named among others":  {[]string{"unknown", "unknown=accepted_no_id"}, []int64{5, 6, 7}, 0, 2},
		"skipped":                       {[]string{"skipped"}, []int64{8, 11}, 0, 0},
		"one reason":                    {[]string{"skipped=cancelled"}, []int64{11}, 0, 0},
		"several":                       {[]string{"skipped=expired", "failed=131049", "failed"}, []int64{1, 2, 8}, 0, 0},
	} {
		l, parent := endedRun(t, "limits: {max_messages: 9}\n", outcomes()...)
		got, err := follow(l, parent, c.where...)
		if err != nil {
			t.Errorf("%s: got %v, want rows %v", name, err, c.rows)
			continue
		}
		var rows []int64
		for i, line := range lines(t, l, got.Run.No) {
			rows = append(rows, line.Key-2348031234500)
			if line.Row != int64(i+1) || line.Status != campaign.Queued || !cmp.Equal(line.Cells, []string{"cell"}) {
				t.Errorf("%s: row %d is %+v, want row %d, queued, with its cell", name, line.Row, line, i+1)
			}
		}
		if diff := cmp.Diff(c.rows, rows); diff != "" || got.Chosen != int64(len(c.rows)) || got.NoID != c.noID ||
			got.Released != c.released || got.Elsewhere != 0 || got.Existed {
			t.Errorf("%s: %+v, want %d chosen, %d without id, %d released; rows -want +got:\n%s",
				name, got, len(c.rows), c.noID, c.released, diff)
		}
		want := campaign.Run{
			No: got.Run.No, Campaign: "a", ListHash: got.Run.ListHash, ListName: got.Run.ListName, Launch: "follow-up", Parent: parent.No,
			Definition: parent.Definition,
			Header:     []string{"to"}, Template: "hello_world", Language: "en_US", Marketing: true, Budget: 9, Rows: int64(len(c.rows)),
			State: campaign.Ready, Wanted: campaign.WantRun, CreatedAt: got.Run.CreatedAt,
		}
		if diff := cmp.Diff(want, got.Run); diff != "" || !strings.HasSuffix(got.Run.ListName, " of a-1") || got.Run.ListHash == parent.ListHash {
			t.Errorf("%s: list %q, run -want +got:\n%s", name, got.Run.ListName, diff)
		}
	}
}

// The same selection in another order is the same run, and no row is in two follow-up runs of a
// parent.
func TestAskingTwiceForAFollowUpSendsNobodyTwice(t *testing.T) {
	l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "1"}, campaign.Line{Status: campaign.Refused, Code: "2"},
		campaign.Line{Status: campaign.Failed, Code: "3"})
	first, err := follow(l, parent, "failed=1", "refused")
	if err != nil || first.Chosen != 2 || first.Existed {
		t.Fatalf("%+v, %v, want 2 chosen", first, err)
	}
	again, err := follow(l, parent, "refused", "failed=1", "refused")
	if err != nil || !again.Existed || again.Run.No != first.Run.No || again.Chosen != 2 {
		t.Errorf("again: %+v, %v, want run %d", again, err, first.Run.No)
	}
	rest, err := follow(l, parent, "failed")
	if err != nil || rest.Chosen != 1 || rest.Elsewhere != 1 || rest.Existed || rest.Run.No == first.Run.No {
		t.Errorf("all failed: %+v, %v, want 1 chosen and 1 elsewhere", rest, err)
	}
	if _, err := follow(l, parent, "failed=3"); !errors.Is(err, launch.ErrNobody) ||
		!strings.Contains(err.Error(), "another follow-up run already has the 1 row of a-1 that would be chosen (failed=3); ") {
		t.Errorf("nobody left: %v, want %v", err, launch.ErrNobody)
	}
	// The same selection of another parent is another run.
	other, otherRun := *l, parent
	run, err := l.CreateRun(t.Context(),
		campaign.Run{Campaign: "a", ListHash: "01", Definition: parent.Definition, Header: parent.Header, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	other.no, otherRun.No, otherRun.ListHash, otherRun.Template = run.No, run.No, run.ListHash, run.Template
	if got, err := follow(&other, otherRun, "failed=1", "refused"); err != nil || got.Existed ||
		got.Run.No == first.Run.No || got.Chosen != 2 {
		t.Errorf("another parent: %+v, %v, want another run of 2", got, err)
	}
}

func TestUncertainRowsAreListedWithTheirEvidence(t *testing.T) {
	l, run := endedRun(t, "",
		campaign.Line{Status: campaign.Unknown, Reason: "time_out", Connection: "conn_1", Attempts: 2, RequestID: "r", TraceID: "t"},
		campaign.Line{Status: campaign.InDoubt, Code: "http_502"}, campaign.Line{Status: campaign.Read, Reason: "time_out"},
		campaign.Line{Status: campaign.Unknown, Reason: "accepted_no_id"}, campaign.Line{Status: campaign.Unknown, Reason: "time_out"})
	got, err := launch.ReadUncertainty(t.Context(), l, run, 3, alwaysListening())
	want := launch.Uncertainty{Run: "a-1", InDoubt: 1, Unknown: 3,
		ByReason: map[string]int64{"time_out": 2, "http_502": 1, "accepted_no_id": 1}, Rows: []launch.Doubtful{
			{Row: 1, To: l.lines[0].To, Status: campaign.Unknown, Connection: "conn_1", Reason: "time_out", Attempts: 2,
				RequestID: "r", TraceID: "t", Resend: true},
			{Row: 2, To: l.lines[1].To, Status: campaign.InDoubt, Reason: "http_502", Resend: true},
			{Row: 4, To: l.lines[3].To, Status: campaign.Unknown, Reason: "accepted_no_id"},
		}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	again, err := launch.StartFollowUp(t.Context(), launch.FollowUpInput{Ledger: l, Parent: run,
		Where: []launch.Where{{Status: campaign.Unknown}}})
	if err != nil || again.Chosen != 2 || again.NoID != 1 {
		t.Errorf("resent %+v, %v, want 2 chosen and 1 that was accepted", again, err)
	}
}

// A run that was cancelled ends its doubts at once, so their window counts from its end.
func TestDoubtsOfACancelledRunAreNotSentAgainAtOnce(t *testing.T) {
	for _, extra := range []string{"", "policies: {doubt_window: 1s}\n"} {
		l, run := endedRun(t, extra, campaign.Line{Status: campaign.Unknown, Reason: "interrupted"})
		run.State = campaign.Cancelled
		if extra != "" {
			run.EndedAt = run.EndedAt.Add(-2 * time.Second)
		}
		if f, err := follow(l, run, "unknown"); errors.Is(err, campaign.ErrNotNow) != (extra == "") || (f.Chosen == 1) != (extra != "") {
			t.Errorf("with %q: %+v, %v; want ErrNotNow within the doubt window, else one row", extra, f, err)
		}
	}
}

// together is a ledger on which two follow-ups of one parent run at once although the job lets one
// process at a time do that: a process may lose its lease and not notice. Their first chunks wait
// for each other.
type together struct {
	*fixedRows
	chunks chan struct{}
	met    *sync.WaitGroup
}

func (l together) AcquireJob(_ context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	return campaign.JobLease{Name: name, Owner: owner, Until: time.Now().Add(d)}, true, nil
}

func (l together) ReleaseJob(context.Context, campaign.JobLease) error { return nil }

func (l together) AppendRows(ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, s []campaign.Segment) error {
	select {
	case l.chunks <- struct{}{}:
		l.met.Done()
		l.met.Wait()
	default:
	}
	return l.fixedRows.AppendRows(ctx, no, after, rows, s)
}

func TestFollowUpsAtOnceShareNoRecipient(t *testing.T) {
	l, run := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "131049"}, campaign.Line{Status: campaign.Failed, Code: "131026"})
	both := together{l, make(chan struct{}, 2), &sync.WaitGroup{}}
	both.met.Add(2)
	var made [2]launch.FollowedUp
	var wait sync.WaitGroup
	for i, where := range []string{"failed", "failed=131049"} {
		w, err := launch.ParseWhere(where)
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			var err error
			in := launch.FollowUpInput{Ledger: both, Parent: run, Where: []launch.Where{w}, Early: true, Owner: where}
			if made[i], err = launch.StartFollowUp(t.Context(), in); err != nil {
				t.Errorf("--where %s: %v, want no error", where, err)
			}
		})
	}
	wait.Wait()
	in := map[int64]int{}
	for _, f := range made {
		for line, err := range l.Ledger.Lines(t.Context(), f.Run.No) {
			if err != nil {
				t.Fatal(err)
			}
			in[line.Key]++
		}
	}
	for key, n := range in {
		if n != 1 {
			t.Errorf("recipient %d is in %d follow-ups, want 1", key, n)
		}
	}
	if len(in) != 2 || made[0].Run.No == made[1].Run.No {
		t.Errorf("%d recipients in %+v, want 2 in two runs", len(in), made)
	}
}
