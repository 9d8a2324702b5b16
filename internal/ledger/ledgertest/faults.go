package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// Faults makes statements of a ledger fail.
type Faults struct {
	Fail   func(n int)                     // makes the n-th statement from now fail; 0: none
	Failed func() string                   // the statement that failed since the last Fail; "": none
	Is     func(error) bool                // whether an error is that of the statement
	Rows   func(*testing.T) string         // every row of the ledger
	Exec   func(t *testing.T, stmt string) // runs a statement of SQL beside the ledger
	Some   bool                            // some methods have no statement that can fail
}

// quarantined is a ledger that may go back in time.
type quarantined interface {
	Quarantine(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error)
	Rehearse(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error)
}

// sampled is the share of the methods, and of a sweep's statements, that RunFaults tries without
// the long tests: one in so many.
const sampled = 8

// RunFaults makes each statement of each method fail in turn. The method must return the error and
// change nothing, and the same call must succeed afterwards. A call with a context that has ended
// must succeed, or return context.Canceled and change nothing. Without the long tests, RunFaults
// tries every eighth method and every eighth statement of a sweep.
func RunFaults(t *testing.T, open func(*testing.T) (campaign.Ledger, Faults)) {
	var l campaign.Ledger
	var faults Faults
	for i, m := range faultyMethods {
		if !Long && i%sampled != 0 {
			continue
		}
		if l == nil || Long && i%8 == 0 { // a fresh one, since all rows are compared again and again
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

// cancelled calls with a context that has ended. If a call succeeds nevertheless, what it wrote is
// durable.
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

// failing makes each statement of a call fail, until no statement is left.
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

// failingSweep does what failing does, for a sweep, which commits in steps. With the error, a sweep
// must return what it did before the fault, and the next sweeps must do the rest.
func failingSweep(f *fixture, faults Faults) {
	f.Helper()
	want := campaign.Swept{Matched: 1, Adopted: 1, Expired: 1}
	step := sampled
	if Long {
		step = 1
	}
	for n := 1; ; n += step {
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
		if p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil || !p.Done {
			f.Fatalf("parked %+v, %v; want it done", p, err)
		}
	}
}

// orphans makes three orphans: of an accepted delivery, of one in doubt, and one that is too old.
func (f *fixture) orphans(faults Faults, n int) campaign.Lease {
	f.Helper()
	r, l := f.begun(2, 2)
	known, proof, old := fmt.Sprint("wamid.known.", n), fmt.Sprint("wamid.proof.", n), fmt.Sprint("wamid.old.", n)
	f.record(acceptance(l, 0), doubtful(l, 1))
	stale := event(old, key(9000), campaign.Sent, at(-8*24*3600))
	f.apply(event(known, key(0), campaign.Sent, at(1)), event(proof, key(1), campaign.Sent, at(1)), stale)
	faults.Exec(f.T, fmt.Sprintf(`UPDATE outcome SET message_id = '%[1]s',
		mh = (SELECT mh FROM orphan WHERE message_id = '%[1]s') WHERE message_id = '%[2]s'`, known, messageID(r.No, 0)))
	return l
}

// faultyMethods are the methods of a ledger, except Sweep.
var faultyMethods = slices.Concat(runFaults, sendFaults, eventFaults, repeatFaults, reportFaults, jobFaults, accessFaults,
	sessionFaults, draftFaults,
	auditFaults, senderFaults, purchaseFaults, paymentLinkFaults)

// faultyMethod is a method. prepare writes what the call needs and returns the call.
type faultyMethod struct {
	name    string
	prepare func(f *fixture, faults Faults) func(context.Context) error
}

// none fails when a call returns both an error and a count, or neither. It returns the error.
func none(f *fixture, did int, err error) error {
	f.Helper()
	if (did > 0) == (err != nil) {
		f.Errorf("did %d, %v; want either something or an error", did, err)
	}
	return err
}

// retried makes a run of ten: seq 0 is a retry in flight, 1 is deferred, 2 and 3 are posted without
// a result, and 4 is accepted.
func (f *fixture) retried(change ...func(*campaign.Run)) (campaign.Run, campaign.Lease) {
	f.Helper()
	r := f.imported(10, change...)
	l := f.lease(r.No, long)
	f.sent(l, 0, 5)
	f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)), acceptance(l, 4))
	f.sentRetry(l, 5, 0, 2)
	return r, l
}

// suppresses suppresses marketing to the phone numbers of these seqs until the test ends.
func (f *fixture) suppresses(seqs ...int64) {
	f.Helper()
	var all []campaign.Suppression
	for _, seq := range seqs {
		all = append(all, campaign.Suppression{Key: key(seq), To: fmt.Sprintf("+%d", key(seq)), Scope: campaign.ScopeMarketing, At: at(0)})
	}
	f.done(f.l.Suppress(f.ctx, all))
	f.Cleanup(func() {
		if _, err := f.l.Unsuppress(context.WithoutCancel(f.ctx), all); err != nil {
			f.Errorf("lifting %d suppressions: %v; want no error", len(all), err)
		}
	})
}
