package campaign

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leases is a JobLedger that records its calls and their times.
type leases struct {
	began  time.Time
	asked  []string
	taken  bool
	fails  error // of AcquireJob
	renews error
	frees  error
}

func (l *leases) note(what string, more ...string) {
	for _, m := range more {
		what += " " + m
	}
	l.asked = append(l.asked, time.Since(l.began).String()+" "+what)
}

func (l *leases) AcquireJob(_ context.Context, name, owner string, d time.Duration) (JobLease, bool, error) {
	l.note("acquire", name, owner, d.String())
	return JobLease{Name: name, Owner: owner, Epoch: 1}, !l.taken, l.fails
}

func (l *leases) RenewJob(_ context.Context, lease JobLease, d time.Duration) (JobLease, error) {
	l.note("renew", lease.Name, d.String())
	return lease, l.renews
}

func (l *leases) ReleaseJob(ctx context.Context, lease JobLease) error {
	l.note("release", lease.Name)
	if until, ok := ctx.Deadline(); !ok || time.Until(until) != time.Second || ctx.Err() != nil {
		l.note("without a deadline of a second")
	}
	return l.frees
}

func (l *leases) JobLeft(context.Context, string) (time.Duration, error) { return 0, nil }

func TestAJobIsLeasedRenewedAndReleased(t *testing.T) {
	for _, c := range []struct {
		lease, work time.Duration
		want        []string
	}{
		{0, 11 * time.Second, []string{"0s acquire import 7 me 15s", "5s renew import 7 15s", "10s renew import 7 15s", "11s release import 7"}},
		{-1, time.Second, []string{"0s acquire import 7 me 15s", "1s release import 7"}},
		{9 * time.Second, 7 * time.Second,
			[]string{"0s acquire import 7 me 9s", "3s renew import 7 9s", "6s renew import 7 9s", "7s release import 7"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &leases{began: time.Now()}
			err := Job{Ledger: l, Name: "import 7", Owner: "me", Lease: c.lease}.Do(t.Context(), func(ctx context.Context) error {
				time.Sleep(c.work)
				return ctx.Err()
			})
			if diff := cmp.Diff(c.want, l.asked); diff != "" || err != nil {
				t.Errorf("lease %v: %v, -want +got:\n%s", c.lease, err, diff)
			}
		})
	}
}

func TestAJobReturnsHowItEnded(t *testing.T) {
	broken, away := errors.New("broken"), errors.New("the ledger is away")
	for name, c := range map[string]struct {
		l       leases
		work    error // of the work itself
		cancel  bool  // the caller's context ends while it works
		want    error
		not     error
		release bool
	}{
		"done":                              {release: true},
		"failed":                            {work: broken, want: broken, release: true},
		"taken":                             {l: leases{taken: true}, want: ErrTaken},
		"cannot be asked":                   {l: leases{fails: away}, want: away},
		"taken over":                        {l: leases{renews: ErrFenced}, want: ErrFenced},
		"taken over, and failed":            {l: leases{renews: ErrFenced}, work: broken, want: broken},
		"cannot be renewed":                 {l: leases{renews: away}, release: true},
		"done, and cannot be released":      {l: leases{frees: away}, release: true},
		"failed, and cannot be released":    {l: leases{frees: away}, work: broken, want: broken, not: away, release: true},
		"cancelled, and cannot be released": {l: leases{frees: away}, cancel: true, not: away, release: true},
		"cancelled":                         {cancel: true, work: context.Canceled, want: context.Canceled, release: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := c.l
			l.began = time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			worked := false
			err := Job{Ledger: &l, Name: "cron x", Owner: "me"}.Do(ctx, func(ctx context.Context) error {
				worked = true
				if c.cancel {
					cancel()
				}
				time.Sleep(6 * time.Second)
				if fenced := errors.Is(context.Cause(ctx), ErrFenced); fenced != errors.Is(l.renews, ErrFenced) {
					t.Errorf("%s: the work's context has the cause ErrFenced: %v, want %v", name, fenced, !fenced)
				}
				return c.work
			})
			if !errors.Is(err, c.want) || c.want == nil && err != nil || c.not != nil && errors.Is(err, c.not) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			if refused := l.taken || l.fails != nil; worked == refused {
				t.Errorf("%s: the work was started: %v, want %v", name, worked, !refused)
			}
			if last := l.asked[len(l.asked)-1]; (last == "6s release cron x") != c.release {
				t.Errorf("%s: the last call is %q, want a release: %v", name, last, c.release)
			}
		})
	}
}
