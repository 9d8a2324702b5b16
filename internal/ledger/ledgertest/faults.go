package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// Faults makes statements of a ledger fail.
type Faults struct {
	Fail   func(n int)                     // lets the n-th statement from now on fail, and no other; 0 none
	Failed func() string                   // the statement that failed since; "" none
	Is     func(error) bool                // whether an error is that of the statement
	Rows   func(*testing.T) string         // every row that the ledger holds
	Exec   func(t *testing.T, stmt string) // runs a statement of SQL beside the ledger
	Some   bool                            // not every method has a statement that can fail
}

// quarantined is a ledger that may go back in time.
type quarantined interface {
	Quarantine(ctx context.Context, ahead int64, since time.Time) (int64, error)
	Rehearse(ctx context.Context, ahead int64, since time.Time) (int64, error)
}

// RunFaults lets each statement of each method fail in turn. The method returns its error and has changed nothing, and
// the same call succeeds afterwards. So does one whose context has ended.
func RunFaults(t *testing.T, open func(*testing.T) (campaign.Ledger, Faults)) {
	var l campaign.Ledger
	var faults Faults
	for i, m := range faultyMethods {
		if i%8 == 0 { // another, as all its rows are compared again and again
			l, faults = open(t)
		}
		for j, try := range []struct {
			how string
			of  func(*fixture, Faults, func(context.Context) error)
		}{{"Cancelled", cancelled}, {"Failing", failing}} {
			t.Run(m.name+try.how, func(t *testing.T) {
				f := newFixture(t, func(*testing.T) campaign.Ledger { return l })
				f.ids = 20 * (2*i + j)
				try.of(f, faults, m.prepare(f, faults))
			})
		}
	}
	t.Run("Sweep", func(t *testing.T) {
		l, faults := open(t)
		failingSweep(newFixture(t, func(*testing.T) campaign.Ledger { return l }), faults)
	})
}

// cancelled calls with a context that has ended. A call that was faster than that is durable.
func cancelled(f *fixture, faults Faults, call func(context.Context) error) {
	f.Helper()
	before := faults.Rows(f.T)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	err := call(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, context.Canceled) {
		f.Errorf("cancelled: %v; want %v", err, context.Canceled)
	}
	if after := faults.Rows(f.T); after != before {
		f.Errorf("a cancelled call changed the ledger (-before +after):\n%s", cmp.Diff(before, after))
	}
}

// failing lets each statement of a call fail until there is none left.
func failing(f *fixture, faults Faults, call func(context.Context) error) {
	f.Helper()
	before := faults.Rows(f.T)
	for n := 1; ; n++ {
		faults.Fail(n)
		err := call(f.ctx)
		what := faults.Failed()
		faults.Fail(0)
		switch {
		case what == "" && err != nil:
			f.Fatalf("after %d faults, with none: %v; want no error", n-1, err)
		case what == "" && n == 1 && !faults.Some:
			f.Fatal("no statement failed; want at least one")
		case what == "":
			return
		case err == nil:
			f.Fatalf("statement %d failed, and the call succeeded; want its error. It was %s", n, what)
		case !faults.Is(err):
			f.Errorf("statement %d failed, and the call returned %v; want its error. It was %s", n, err, what)
		}
		if after := faults.Rows(f.T); after != before {
			f.Fatalf("statement %d failed, and the ledger changed (-before +after):\n%s\nIt was %s", n, cmp.Diff(before, after), what)
		}
	}
}

// failingSweep is failing for a sweep, which commits in steps: what was done before the fault is told with the error, and
// the next sweeps do the rest.
func failingSweep(f *fixture, faults Faults) {
	f.Helper()
	want := campaign.Swept{Matched: 1, Adopted: 1, Expired: 1}
	for n := 1; ; n++ {
		l := f.orphans(faults, n)
		var sum campaign.Swept
		add := func(s campaign.Swept) {
			sum.Matched, sum.Adopted, sum.Expired = sum.Matched+s.Matched, sum.Adopted+s.Adopted, sum.Expired+s.Expired
		}
		before := faults.Rows(f.T)
		faults.Fail(n)
		s, err := f.l.Sweep(f.ctx, at(200))
		what := faults.Failed()
		faults.Fail(0)
		if add(s); what == "" {
			if err != nil || sum != want {
				f.Errorf("swept %+v, %v with no fault; want %+v", sum, err, want)
			}
			return
		}
		if err == nil || !faults.Is(err) {
			f.Errorf("statement %d failed, and the sweep returned %v; want its error. It was %s", n, err, what)
		}
		if done := s.Matched + s.Adopted + s.Expired; (done == 0) != (before == faults.Rows(f.T)) {
			f.Errorf("statement %d failed, and the sweep said it did %d things; want what the ledger shows. It was %s:\n%s", n, done, what,
				cmp.Diff(before, faults.Rows(f.T)))
		}
		for range 3 {
			s, err := f.l.Sweep(f.ctx, at(200))
			f.ok(err)
			add(s)
		}
		if sum != want {
			f.Fatalf("swept %+v in all after statement %d failed; want %+v. It was %s", sum, n, want, what)
		}
		if p, err := f.l.Park(f.ctx, l, time.Time{}, time.Minute); err != nil || !p.Done {
			f.Fatalf("parked %+v, %v; want it done", p, err)
		}
	}
}

// orphans makes three: of a delivery that is accepted, of one that is in doubt, and one that is too old.
func (f *fixture) orphans(faults Faults, n int) campaign.Lease {
	f.Helper()
	r := f.imported(2)
	l := f.lease(r.No, long)
	f.sent(l, 0, 2)
	known, proof, old := fmt.Sprint("wamid.known.", n), fmt.Sprint("wamid.proof.", n), fmt.Sprint("wamid.old.", n)
	f.record(acceptance(l, 0), doubtful(l, 1))
	stale := event(old, key(9000), campaign.Sent, at(-8*24*3600))
	f.apply(event(known, key(0), campaign.Sent, at(1)), event(proof, key(1), campaign.Sent, at(1)), stale)
	faults.Exec(f.T, fmt.Sprintf(`UPDATE outcome SET message_id = '%s', mh = (SELECT mh FROM orphan WHERE message_id = '%s') WHERE message_id = '%s'`,
		known, known, messageID(r.No, 0)))
	return l
}

// faultyMethods are the methods of a ledger but Sweep. prepare makes what the call finds.
var faultyMethods = []struct {
	name    string
	prepare func(f *fixture, faults Faults) func(context.Context) error
}{
	{"Rehearse", func(f *fixture, _ Faults) func(context.Context) error {
		f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.(quarantined).Rehearse(ctx, 4, at(0))
			return none(f, int(n), err)
		}
	}},
	{"Quarantine", func(f *fixture, _ Faults) func(context.Context) error {
		f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.(quarantined).Quarantine(ctx, 4, at(0))
			return none(f, int(n), err)
		}
	}},
	{"CreateRun", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		r := campaign.Run{Campaign: "faults", ListHash: fmt.Sprint("list", f.ids)}
		return func(ctx context.Context) error { _, err := f.l.CreateRun(ctx, r); return err }
	}},
	{"CreateRunOfAFiring", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		r := campaign.Run{Campaign: "faults", ListHash: "list", Launch: fmt.Sprint(campaign.FiringKey, f.ids)}
		return func(ctx context.Context) error { _, err := f.l.CreateRun(ctx, r); return err }
	}},
	{"CreateRunThatExists", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.create()
		return func(ctx context.Context) error {
			_, err := f.l.CreateRun(ctx, campaign.Run{Campaign: r.Campaign, ListHash: r.ListHash})
			if errors.Is(err, campaign.ErrRunExists) {
				err = nil
			}
			return err
		}
	}},
	{"Run", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { _, err := f.l.Run(ctx, no); return err }
	}},
	{"Runs", func(f *fixture, _ Faults) func(context.Context) error {
		f.imported(1)
		return func(ctx context.Context) error {
			_, err := f.l.Runs(ctx, campaign.RunFilter{Campaign: "spring", Fired: false, Unfinished: true, Limit: 9})
			return err
		}
	}},
	{"SetWantedRun", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		if _, err := f.l.SetState(f.ctx, no, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByLedger, "why"); err != nil {
			f.Fatalf("pausing run %d: %v; want no error", no, err)
		}
		return func(ctx context.Context) error { _, err := f.l.SetWanted(ctx, no, campaign.WantRun); return err }
	}},
	{"SetWantedCancel", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		if _, err := f.l.Park(f.ctx, f.lease(no, long), at(0).AddDate(50, 0, 0), time.Minute); err != nil {
			f.Fatalf("parking: %v; want no error", err)
		}
		return func(ctx context.Context) error { _, err := f.l.SetWanted(ctx, no, campaign.WantCancel); return err }
	}},
	{"SetState", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error {
			moved, err := f.l.SetState(ctx, no, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByLedger, "why")
			if moved == (err != nil) {
				f.Errorf("moved %v, %v; want moved when there is no error, and only then", moved, err)
			}
			return err
		}
	}},
	{"SetAsset", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { return f.l.SetAsset(ctx, no, "asset", at(1)) }
	}},
	{"FinishRuns", func(f *fixture, _ Faults) func(context.Context) error {
		for range 2 {
			l := f.lease(f.imported(1).No, long)
			f.sent(l, 0, 1)
			f.record(acceptance(l, 0))
			if p, err := f.l.Park(f.ctx, l, time.Time{}, time.Minute); err != nil || !p.Done {
				f.Fatalf("parked %+v, %v; want it done", p, err)
			}
		}
		return func(ctx context.Context) error { _, err := f.l.FinishRuns(ctx); return err }
	}},
	{"AppendRows", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.create()
		ds := deliveries(0, 40)
		ds[3].Skip, ds[4].Skip = campaign.Duplicate, campaign.Duplicate
		return func(ctx context.Context) error {
			return f.l.AppendRows(ctx, r.No, 0, ds, []campaign.Segment{{Run: r.No, Hi: 40}})
		}
	}},
	{"FinishImport", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 3), []campaign.Segment{{Run: r.No, Hi: 3}}))
		return func(ctx context.Context) error { return f.l.FinishImport(ctx, r.No, 3, campaign.Ready) }
	}},
	{"Claim", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(3).No
		return func(ctx context.Context) error {
			ls, err := f.l.Claim(ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 3, Lease: long})
			return none(f, len(ls), err)
		}
	}},
	{"Renew", func(f *fixture, _ Faults) func(context.Context) error {
		l := f.lease(f.imported(3).No, long)
		return func(ctx context.Context) error {
			ls, err := f.l.Renew(ctx, []campaign.Lease{l}, 2*long)
			return none(f, len(ls), err)
		}
	}},
	{"Release", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried(func(r *campaign.Run) { r.Budget = 100 })
		return func(ctx context.Context) error { return f.l.Release(ctx, l, []int64{0, 1, 2, 5}) }
	}},
	{"Recover", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.Recover(ctx, l, at(100))
			return none(f, n, err)
		}
	}},
	{"Deliveries", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(3).No
		return func(ctx context.Context) error { _, err := f.l.Deliveries(ctx, no, 0, 3); return err }
	}},
	{"Due", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error { _, err := f.l.Due(ctx, l, at(1000), 9); return err }
	}},
	{"Intend", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(20, func(r *campaign.Run) { r.Budget = 100 })
		l := f.lease(r.No, long)
		f.sent(l, 0, 3)
		f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)), acceptance(l, 2))
		f.suppresses(1, 4)
		in := intent(l, 3, 6)
		in.Keys = append(in.Keys, key(0), key(1))
		for seq := range int64(2) {
			in.Retries = append(in.Retries, campaign.Retry{Delivery: campaign.Delivery{Run: r.No, Seq: seq, Key: key(seq)}, Attempt: 2})
		}
		return func(ctx context.Context) error { _, err := f.l.Intend(ctx, []campaign.Intent{in}); return err }
	}},
	{"IntendWithoutKeys", func(f *fixture, _ Faults) func(context.Context) error {
		l := f.lease(f.imported(20).No, long)
		f.suppresses(4)
		in := intent(l, 0, 6)
		in.Keys = nil
		return func(ctx context.Context) error { _, err := f.l.Intend(ctx, []campaign.Intent{in}); return err }
	}},
	{"Record", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(20)
		l := f.lease(r.No, long)
		f.sent(l, 0, 8)
		f.record(deferral(l, 4, at(0)), doubtful(l, 5), deferral(l, 6, at(0)))
		f.sentRetry(l, 8, 4, 2)
		f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(1)), event(messageID(r.No, 5), key(5), campaign.Read, at(1)))
		refused, again := refusal(l, 1), acceptance(l, 4)
		refused.Suppress = &campaign.Suppression{Key: key(7000 + int64(f.ids)), Scope: campaign.ScopeAll, At: at(0)}
		again.Attempt = 2
		rs := []campaign.Result{acceptance(l, 0), refused, deferral(l, 2, at(0)), doubtful(l, 3), again, acceptance(l, 5)}
		return func(ctx context.Context) error { return f.l.Record(ctx, rs) }
	}},
	{"RecordARepeatedID", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(3)
		l := f.lease(r.No, long)
		f.sent(l, 0, 3)
		rs := []campaign.Result{acceptance(l, 0), acceptance(l, 1), acceptance(l, 2)}
		rs[2].MessageID = rs[0].MessageID
		return func(ctx context.Context) error { return f.l.Record(ctx, rs) }
	}},
	{"Resolve", func(f *fixture, _ Faults) func(context.Context) error {
		l := f.lease(f.imported(3).No, long)
		f.sent(l, 0, 2)
		never := doubtful(l, 1)
		never.NoResend = true
		f.record(doubtful(l, 0), never)
		return func(ctx context.Context) error {
			n, err := f.l.Resolve(ctx, l, at(100), campaign.Resend)
			return none(f, n, err)
		}
	}},
	{"Drop", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.Drop(ctx, l, campaign.Expired)
			return none(f, n, err)
		}
	}},
	{"Park", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error { _, err := f.l.Park(ctx, l, time.Time{}, time.Minute); return err }
	}},
	{"ReportLanes", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		owner := fmt.Sprint("owner ", f.ids)
		f.ok(f.l.ReportLanes(f.ctx, owner, []campaign.LaneReport{{Run: 1, Connection: "conn_1", At: at(0)}}))
		return func(ctx context.Context) error {
			return f.l.ReportLanes(ctx, owner, []campaign.LaneReport{{Run: 1, Connection: "conn_2", At: at(1)}})
		}
	}},
	{"Apply", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		r, _ := f.accepted(4)
		f.suppresses(int64(8000 + f.ids))
		e := campaign.Events{
			Statuses:     []campaign.StatusEvent{event(messageID(r.No, 0), key(0), campaign.Sent, at(5)), event(messageID(r.No, 1), key(1), campaign.Failed, at(5))},
			Suppressions: []campaign.Suppression{{Key: key(6000 + int64(f.ids)), Scope: campaign.ScopeMarketing, At: at(1)}},
			Lifted:       []campaign.Suppression{{Key: key(int64(8000 + f.ids)), Scope: campaign.ScopeMarketing, At: at(100)}},
		}
		return func(ctx context.Context) error {
			done, err := f.l.Apply(ctx, e)
			if want := (campaign.Applied{}); err != nil && done != want {
				f.Errorf("failed, and applied %+v; want %+v", done, want)
			}
			return err
		}
	}},
	{"ApplyOfStrangers", func(f *fixture, _ Faults) func(context.Context) error { // apart, as they may be a transaction of their own
		f.ids++
		first, again := fmt.Sprint("wamid.first.", f.ids), fmt.Sprint("wamid.again.", f.ids)
		f.apply(event(again, key(9001), campaign.Sent, at(9)))
		e := campaign.Events{Statuses: []campaign.StatusEvent{event(first, key(9000), campaign.Sent, at(5)), event(again, key(9001), campaign.Sent, at(5))}}
		return func(ctx context.Context) error { _, err := f.l.Apply(ctx, e); return err }
	}},
	{"ApplyTemplatePaused", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(1, func(r *campaign.Run) { r.Template = "paused" })
		return func(ctx context.Context) error { return f.templated(ctx, r, "PAUSED") }
	}},
	{"ApplyTemplateApproved", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(1, func(r *campaign.Run) { r.Template = "approved" })
		f.ok(f.templated(f.ctx, r, "PAUSED"))
		return func(ctx context.Context) error { return f.templated(ctx, r, "APPROVED") }
	}},
	{"Suppress", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		f.suppresses(int64(f.ids))
		s := []campaign.Suppression{{Key: key(int64(f.ids)), Scope: campaign.ScopeMarketing, At: at(1)}, {Key: key(5000 + int64(f.ids)), Scope: campaign.ScopeAll, At: at(1)}}
		return func(ctx context.Context) error {
			n, err := f.l.Suppress(ctx, s)
			return none(f, n, err)
		}
	}},
	{"Unsuppress", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		f.suppresses(int64(f.ids), int64(f.ids)+1)
		s := []campaign.Suppression{{Key: key(int64(f.ids)), Scope: campaign.ScopeMarketing}, {Key: key(int64(f.ids) + 1), Scope: campaign.ScopeMarketing}}
		return func(ctx context.Context) error {
			n, err := f.l.Unsuppress(ctx, s)
			return none(f, n, err)
		}
	}},
	{"Suppressions", func(f *fixture, _ Faults) func(context.Context) error {
		f.suppresses(1, 2)
		return func(ctx context.Context) (last error) {
			for _, err := range f.l.Suppressions(ctx) {
				last = err
			}
			return last
		}
	}},
	{"SuppressedKeys", func(f *fixture, _ Faults) func(context.Context) error {
		f.suppresses(1)
		return func(ctx context.Context) error {
			_, err := f.l.SuppressedKeys(ctx, keys(0, 40), true, at(1))
			return err
		}
	}},
	{"Tallies", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) error { _, _, err := f.l.Tallies(ctx, r.No); return err }
	}},
	{"TalliesOfWhatIsDone", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		f.record(acceptance(l, 0))
		if p, err := f.l.Park(f.ctx, l, time.Time{}, time.Minute); err != nil || !p.Done {
			f.Fatalf("parked %+v, %v; want it done", p, err)
		}
		return func(ctx context.Context) error { _, _, err := f.l.Tallies(ctx, r.No); return err }
	}},
	{"Lines", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) (last error) {
			for _, err := range f.l.Lines(ctx, r.No) {
				last = err
			}
			return last
		}
	}},
	{"Audit", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) error { _, err := f.l.Audit(ctx, r.No, 9); return err }
	}},
	{"AuditOfARowTwice", func(f *fixture, faults Faults) func(context.Context) error {
		r := f.imported(2)
		faults.Exec(f.T, fmt.Sprintf(`UPDATE delivery SET key = %d WHERE rid >> 32 = %d`, key(0), r.No))
		return func(ctx context.Context) error {
			ps, err := f.l.Audit(ctx, r.No, 9)
			if err == nil && len(ps) != 1 {
				f.Errorf("found %+v, want one problem", ps)
			}
			return err
		}
	}},
	{"Lanes", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		f.ok(f.l.ReportLanes(f.ctx, "of the lanes", []campaign.LaneReport{{Run: no, Connection: "conn_1", LimitedBy: "tier", At: at(0)}}))
		return func(ctx context.Context) error { _, err := f.l.Lanes(ctx, no); return err }
	}},
	{"SegmentStates", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { _, err := f.l.SegmentStates(ctx, no); return err }
	}},
	{"LastEventAt", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { _, err := f.l.LastEventAt(ctx, no); return err }
	}},
	{"AcquireJob", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		name := fmt.Sprint("job ", f.ids)
		return func(ctx context.Context) error {
			l, ok, err := f.l.AcquireJob(ctx, name, "a", long)
			if want := (campaign.JobLease{}); ok == (err != nil) || err != nil && l != want {
				f.Errorf("acquired %+v, %v, %v; want a lease when there is no error, and only then", l, ok, err)
			}
			return err
		}
	}},
	{"RenewJob", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		l, _ := f.job(fmt.Sprint("job ", f.ids), "a", long)
		return func(ctx context.Context) error { _, err := f.l.RenewJob(ctx, l, 2*long); return err }
	}},
	{"ReleaseJob", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		l, _ := f.job(fmt.Sprint("job ", f.ids), "a", long)
		return func(ctx context.Context) error { return f.l.ReleaseJob(ctx, l) }
	}},
}

// none fails when a call says both an error and that it did something, or neither.
func none(f *fixture, did int, err error) error {
	f.Helper()
	if (did > 0) == (err != nil) {
		f.Errorf("did %d, %v; want either something or an error", did, err)
	}
	return err
}

// retried makes a run of ten, of which seq 0 is a retry in flight, 1 deferred, 2 and 3 posted without a result, and 4 accepted.
func (f *fixture) retried(change ...func(*campaign.Run)) (campaign.Run, campaign.Lease) {
	f.Helper()
	r := f.imported(10, change...)
	l := f.lease(r.No, long)
	f.sent(l, 0, 5)
	f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)), acceptance(l, 4))
	f.sentRetry(l, 5, 0, 2)
	return r, l
}

// templated applies an event of a run's template.
func (f *fixture) templated(ctx context.Context, r campaign.Run, what string) error {
	_, err := f.l.Apply(ctx, campaign.Events{Templates: []campaign.TemplateEvent{{Name: r.Template, Language: r.Language, Event: what}}})
	return err
}

// suppresses keeps marketing from the numbers of these seqs until the method's test ends.
func (f *fixture) suppresses(seqs ...int64) {
	f.Helper()
	var all []campaign.Suppression
	for _, seq := range seqs {
		all = append(all, campaign.Suppression{Key: key(seq), To: fmt.Sprintf("+%d", key(seq)), Scope: campaign.ScopeMarketing, At: at(0)})
	}
	_, err := f.l.Suppress(f.ctx, all)
	f.ok(err)
	f.Cleanup(func() {
		if _, err := f.l.Unsuppress(context.WithoutCancel(f.ctx), all); err != nil {
			f.Errorf("lifting %d suppressions: %v; want no error", len(all), err)
		}
	})
}
