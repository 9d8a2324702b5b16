package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// The times of the suite are fixed and in the past, so that doubts, orphans and statuses can lie
// around each other without waiting. Only leases use the real clock.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// at is the time that many seconds after noon.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// A lease of long ends after the test. A lease of gone has ended when it begins.
const (
	long = time.Hour
	gone = -time.Second
)

// After is a doubt window that lasts d, whether webhooks are taken or not.
func After(d time.Duration) func(since time.Time) time.Time {
	return func(since time.Time) time.Time { return since.Add(d) }
}

// fixture is a ledger with the steps that many promises need.
type fixture struct {
	*testing.T
	l   campaign.Ledger
	ctx context.Context
	ids int
}

func newFixture(t *testing.T, open func(*testing.T) campaign.Ledger) *fixture {
	return &fixture{T: t, l: open(t), ctx: t.Context()}
}

// ok ends the test when err is not nil.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// done is ok for a call whose answer does not matter.
func (f *fixture) done(_ any, err error) {
	f.Helper()
	f.ok(err)
}

// key is the phone key of seq in every run of the suite.
func key(seq int64) int64 { return 2348030000000 + seq }

// deliveries makes rows for seq of [from, to): row is seq+1.
func deliveries(from, to int64) []campaign.Delivery {
	var ds []campaign.Delivery
	for seq := from; seq < to; seq++ {
		ds = append(ds, campaign.Delivery{Seq: seq, Row: seq + 1, To: fmt.Sprintf("+%d", key(seq)), Key: key(seq),
			Cells: []string{fmt.Sprint("name ", seq), "x"}})
	}
	return ds
}

// create makes a run that is still importing.
func (f *fixture) create(change ...func(*campaign.Run)) campaign.Run {
	f.Helper()
	f.ids++
	r := campaign.Run{Campaign: "spring", ListHash: fmt.Sprint("hash", f.ids), ListName: "list.csv", Definition: []byte("name: spring\n"),
		Header: []string{"name", "x"}, Template: "sale", Language: "en_US", Marketing: true}
	for _, c := range change {
		c(&r)
	}
	r, err := f.l.CreateRun(f.ctx, r)
	f.ok(err)
	return r
}

// imported makes a run of n deliveries, ready to be sent.
func (f *fixture) imported(n int64, change ...func(*campaign.Run)) campaign.Run {
	f.Helper()
	r := f.create(change...)
	for lo := int64(0); lo < n; lo += campaign.SegmentSize {
		hi := min(n, lo+campaign.SegmentSize)
		f.ok(f.l.AppendRows(f.ctx, r.No, lo, deliveries(lo, hi), []campaign.Segment{{Run: r.No, Index: lo / campaign.SegmentSize, Lo: lo,
			Hi: hi}}))
	}
	f.ok(f.l.FinishImport(f.ctx, r.No, n, campaign.Ready))
	return f.run(r.No)
}

func (f *fixture) run(no campaign.RunNo) campaign.Run {
	f.Helper()
	r, err := f.l.Run(f.ctx, no)
	f.ok(err)
	return r
}

// claim leases up to max free segments of a run.
func (f *fixture) claim(no campaign.RunNo, d time.Duration, max int) []campaign.Lease {
	f.Helper()
	ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: max, Lease: d})
	f.ok(err)
	return ls
}

// none fails unless a claim found nothing. of says what it looked for.
func (f *fixture) none(of string, ls []campaign.Lease) {
	f.Helper()
	if len(ls) != 0 {
		f.Errorf("claimed %s: %+v; want none", of, ls)
	}
}

// lease claims one segment, and recovers it if it had an owner before.
func (f *fixture) lease(no campaign.RunNo, d time.Duration) campaign.Lease {
	f.Helper()
	ls := f.claim(no, d, 1)
	if len(ls) != 1 {
		f.Fatalf("claimed %d segments of run %d, want 1", len(ls), no)
	}
	if ls[0].Recovered {
		f.done(f.l.Recover(f.ctx, ls[0], at(100)))
	}
	return ls[0]
}

// leased makes a run of n deliveries and leases its segment.
func (f *fixture) leased(n int64, d time.Duration) (campaign.Run, campaign.Lease) {
	f.Helper()
	r := f.imported(n)
	return r, f.lease(r.No, d)
}

// begun makes a run of n deliveries, leases its segment, and intends the first sent of them.
func (f *fixture) begun(n, sent int64) (campaign.Run, campaign.Lease) {
	f.Helper()
	r, l := f.leased(n, long)
	f.sent(l, 0, sent)
	return r, l
}

// keys are the phone keys of a group.
func keys(from, to int64) []int64 {
	var ks []int64
	for seq := from; seq < to; seq++ {
		ks = append(ks, key(seq))
	}
	return ks
}

// intent asks for [from, to) of a lease.
func intent(l campaign.Lease, from, to int64) campaign.Intent {
	return campaign.Intent{Lease: l, Connection: "conn_1", From: from, To: to, Keys: keys(from, to)}
}

// intend commits one intent.
func (f *fixture) intend(in campaign.Intent) campaign.Granted {
	f.Helper()
	gs, err := f.l.Intend(f.ctx, []campaign.Intent{in})
	f.ok(err)
	if len(gs) != 1 {
		f.Fatalf("%d answers to one intent; want length 1", len(gs))
	}
	return gs[0]
}

// sent moves the mark over [from, to) and fails unless all of it is granted.
func (f *fixture) sent(l campaign.Lease, from, to int64) {
	f.Helper()
	g := f.intend(intent(l, from, to))
	if g.Denied || g.Fenced || g.To != to || len(g.Skipped) > 0 {
		f.Fatalf("intent for %d to %d: %+v; want not Denied, not Fenced, To %+v, none", from, to, g, to)
	}
}

// result is what attempt 1 of seq proved.
func result(l campaign.Lease, seq int64, kind campaign.ResultKind) campaign.Result {
	return campaign.Result{Run: l.Run, Seq: seq, Connection: "conn_1", Attempt: 1, Kind: kind, At: at(1), IntentAt: at(0),
		Epoch: l.Epoch}
}

// messageID is the message id of seq of a run.
func messageID(no campaign.RunNo, seq int64) string { return fmt.Sprintf("wamid.%d.%d", no, seq) }

func acceptance(l campaign.Lease, seq int64) campaign.Result {
	r := result(l, seq, campaign.ResultAccepted)
	r.MessageID = messageID(l.Run, seq)
	return r
}

func refusal(l campaign.Lease, seq int64) campaign.Result {
	r := result(l, seq, campaign.ResultRefused)
	r.Code, r.Detail, r.RequestID, r.TraceID = "send_recipient_permanent", "no such number", "req-1", "trace-1"
	return r
}

func deferral(l campaign.Lease, seq int64, due time.Time) campaign.Result {
	r := result(l, seq, campaign.ResultDeferred)
	r.Code, r.NotBefore, r.Counts = "send_retryable", due, true
	return r
}

func doubtful(l campaign.Lease, seq int64) campaign.Result {
	r := result(l, seq, campaign.ResultDoubt)
	r.Code = "time_out"
	return r
}

func (f *fixture) record(rs ...campaign.Result) {
	f.Helper()
	f.ok(f.l.Record(f.ctx, rs))
}

// event is a status with every field.
func event(id string, recipient int64, s campaign.Status, when time.Time) campaign.StatusEvent {
	return campaign.StatusEvent{MessageID: id, Connection: "conn_1", Recipient: recipient, Status: s, At: when, ReceivedAt: when}
}

func (f *fixture) apply(es ...campaign.StatusEvent) campaign.Applied {
	f.Helper()
	a, err := f.l.Apply(f.ctx, campaign.Events{Statuses: es})
	f.ok(err)
	return a
}

func (f *fixture) sweep() campaign.Swept {
	f.Helper()
	s, err := f.l.Sweep(f.ctx, at(200))
	f.ok(err)
	return s
}

// lines reads the report, by seq.
func (f *fixture) lines(no campaign.RunNo) map[int64]campaign.Line {
	f.Helper()
	all := map[int64]campaign.Line{}
	for l, err := range f.l.Lines(f.ctx, no) {
		f.ok(err)
		all[l.Seq] = l
	}
	return all
}

// counts reads the tallies by status, and fails when they do not add up to the run's rows.
func (f *fixture) counts(no campaign.RunNo) map[campaign.Status]int64 {
	f.Helper()
	ts, _, err := f.l.Tallies(f.ctx, no)
	f.ok(err)
	by, sum := map[campaign.Status]int64{}, int64(0)
	for _, t := range ts {
		by[t.Status] += t.N
		sum += t.N
	}
	if r := f.run(no); sum != r.Rows {
		f.Errorf("run %d: tallies add up to %d of %d rows: %v; want %+v", no, sum, r.Rows, ts, r.Rows)
	}
	return by
}

// counted fails unless the tallies by status are these.
func (f *fixture) counted(no campaign.RunNo, want map[campaign.Status]int64) {
	f.Helper()
	if d := cmp.Diff(want, f.counts(no)); d != "" {
		f.Errorf("tallies of run %d (-want +got):\n%s", no, d)
	}
}

// status fails unless the report shows seq as want, and the tallies add up.
func (f *fixture) status(no campaign.RunNo, seq int64, want campaign.Status) campaign.Line {
	f.Helper()
	l := f.lines(no)[seq]
	if l.Status != want {
		f.Errorf("run %d seq %d is %s (%s %s), want %s", no, seq, l.Status, l.Reason, l.Code, want)
	}
	f.counts(no)
	return l
}

// sound fails when Audit finds anything.
func (f *fixture) sound(no campaign.RunNo) {
	f.Helper()
	ps, _, err := f.l.Audit(f.ctx, no, 10)
	f.ok(err)
	for _, p := range ps {
		f.Errorf("audit of run %d: row %d seq %d %s", no, p.Row, p.Seq, p.What)
	}
}

// sentRetry commits the intent of a retry; mark is the segment's.
func (f *fixture) sentRetry(l campaign.Lease, mark, seq int64, attempt int) {
	f.Helper()
	g := f.intend(retry(l, mark, seq, attempt))
	if g.Denied || g.Fenced || len(g.Skipped) > 0 {
		f.Fatalf("retry of seq %d: %+v; want not Denied, not Fenced, none", seq, g)
	}
}

// retry asks for attempt n of seq.
func retry(l campaign.Lease, mark, seq int64, attempt int) campaign.Intent {
	d := deliveries(seq, seq+1)[0]
	d.Run = l.Run
	return campaign.Intent{Lease: l, Connection: "conn_1", From: mark, To: mark,
		Retries: []campaign.Retry{{Delivery: d, Attempt: attempt}}, Keys: []int64{key(seq)}}
}
