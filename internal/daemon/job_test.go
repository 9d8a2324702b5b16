package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
)

// leased is a ledger that records the calls for its jobs.
type leased struct {
	campaign.Ledger
	asked                      []string
	taken                      bool // another process has the job
	acquired, renewed, release error
}

func (l *leased) AcquireJob(_ context.Context, name, _ string, lease time.Duration) (campaign.JobLease, bool, error) {
	l.asked = append(l.asked, "acquire")
	return campaign.JobLease{Name: name, Until: time.Now().Add(lease)}, !l.taken && l.acquired == nil, l.acquired
}

func (l *leased) RenewJob(_ context.Context, j campaign.JobLease, lease time.Duration) (campaign.JobLease, error) {
	l.asked = append(l.asked, "renew")
	j.Until = time.Now().Add(lease)
	return j, l.renewed
}

func (l *leased) ReleaseJob(context.Context, campaign.JobLease) error {
	l.asked = append(l.asked, "release")
	return l.release
}

func TestEachReplicaHasItsOwnJitter(t *testing.T) {
	seen := map[uint64]string{}
	for _, owner := range []string{ownerName(), "a/1/1764059520000000000", "b/1/1764059520000000000", "a/1/1764059520000000001",
		"a/2/1764059520000000000"} {
		seed := jitterSeed(owner)
		if other, taken := seen[seed]; taken {
			t.Errorf("%q and %q both have the seed %d, want two", owner, other, seed)
		}
		if again := jitterSeed(owner); again != seed {
			t.Errorf("%q: got the seeds %d and %d, want the same one", owner, seed, again)
		}
		seen[seed] = owner
	}
}

func TestASweepersLeaseIsRenewedInItsFirstThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leased{}
		x := &turn{job: campaign.Job{Ledger: l, Name: "sweep", Lease: 15 * time.Second}}
		for _, step := range []struct {
			wait  time.Duration
			fault error // of a renewal
			taken bool
			ours  bool
			asked string
		}{
			{0, nil, false, true, "acquire"},
			{5*time.Second - 1, nil, false, true, ""},
			{1, nil, false, true, "renew"},
			{5*time.Second - 1, nil, false, true, ""},
			{1, errors.New("away"), false, true, "renew"}, // the sweep itself returns the error
			{0, nil, false, true, "renew"},
			{5 * time.Second, campaign.ErrFenced, false, true, "renew acquire"}, // the lease ran out, and no other process has it
			{5 * time.Second, campaign.ErrFenced, true, false, "renew acquire"},
			{0, nil, true, false, "acquire"},
			{0, nil, false, true, "acquire"},
		} {
			time.Sleep(step.wait)
			l.asked, l.renewed, l.taken = nil, step.fault, step.taken
			if ours, asked := x.ours(t.Context()), strings.Join(l.asked, " "); ours != step.ours || asked != step.asked {
				t.Errorf("%+v: got %v after the calls %q, want %v after %q", step, ours, asked, step.ours, step.asked)
			}
		}
		l.asked, l.release = nil, errors.New("away")
		if err := x.end(); err != nil {
			t.Errorf("end with a lease that cannot be released = %v, want no error", err)
		}
		if err := x.end(); err != nil || fmt.Sprint(l.asked) != "[release]" {
			t.Errorf("end again = %v after %v, want one release", err, l.asked)
		}
	})
	l := &leased{acquired: errors.New("away")}
	x := &turn{job: campaign.Job{Ledger: l, Name: "sweep", Lease: 15 * time.Second}}
	if !x.ours(t.Context()) || x.end() != nil || fmt.Sprint(l.asked) != "[acquire]" {
		t.Errorf("a ledger that fails: got the calls %v, want one acquire, and ours without a lease", l.asked)
	}
}

func TestOnlySendersWithoutSharedLimitsWait(t *testing.T) {
	for _, tt := range []struct {
		ledger, redis, asked string
	}{
		{"sqlite:a", "", "[]"}, {"postgres://h/x", "redis://h", "[]"}, {"postgres://h/x", "", "[acquire release]"},
	} {
		l := &leased{}
		d := &Daemon{ledger: l, cfg: &config.Config{Ledger: tt.ledger, Redis: tt.redis, Sending: config.Default().Sending}}
		fault := errors.New("it ended")
		err := d.alone(t.Context(), func(context.Context) error { return fault })
		if got := fmt.Sprint(l.asked); got != tt.asked || !errors.Is(err, fault) {
			t.Errorf("%s with redis %q: got the calls %s and %v, want %s and %v", tt.ledger, tt.redis, got, err, tt.asked, fault)
		}
	}
}

// A process may be stopped at the moment at which it asks whether it is its turn.
func TestAStopWhileASenderAsksIsNoFault(t *testing.T) {
	d := &Daemon{ledger: &leased{acquired: context.Canceled}, cfg: &config.Config{Ledger: "postgres://h/x", Sending: config.Default().Sending}}
	ctx, stop := context.WithCancel(t.Context())
	send := func(context.Context) error { return errors.New("both send") }
	if err := d.alone(ctx, send); !errors.Is(err, context.Canceled) {
		t.Errorf("the ledger's own fault: got %v, want it", err)
	}
	stop()
	if err := d.alone(ctx, send); err != nil {
		t.Errorf("after the stop: got %v, want nil", err)
	}
}

func TestASenderThatWaitsLogsItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, l := &notes{}, &leased{taken: true}
		d := &Daemon{ledger: l, log: logTo(log), cfg: &config.Config{Ledger: "postgres://h/x", Sending: config.Default().Sending}}
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		if err := d.alone(ctx, func(context.Context) error { return errors.New("both send") }); err != nil {
			t.Errorf("alone = %v, want nil at its end", err)
		}
		if got := len(l.asked); got != 3 {
			t.Errorf("got %d calls in 2.5 s, want one a second, 3", got)
		}
		if lines := log.lines("another process sends from this ledger"); len(lines) != 1 {
			t.Errorf("got the log %q, want one line", lines)
		}
	})
}
