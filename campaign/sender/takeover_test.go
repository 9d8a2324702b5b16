package sender

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// takeoverLedger is a ledger with three segments that an earlier owner left; the second meets a
// fault.
type takeoverLedger struct {
	stubLedger
	recover, resolve error
	stop             func() // called before the fault
	released         []int64
}

func (l *takeoverLedger) Claim(context.Context, campaign.Claim) (all []campaign.Lease, _ error) {
	for i := range int64(3) {
		all = append(all, campaign.Lease{Segment: campaign.Segment{Run: 1, Index: i, Lo: 10 * i, Hi: 10*i + 10}, Epoch: 4, Mark: 10 * i,
			Recovered: true})
	}
	return all, nil
}

func (l *takeoverLedger) meets(ctx context.Context, lease campaign.Lease, err error) (int, error) {
	if lease.Index != 1 || err == nil {
		return 0, nil
	}
	if l.stop != nil {
		l.stop()
		return 0, ctx.Err()
	}
	return 0, err
}

func (l *takeoverLedger) Recover(ctx context.Context, lease campaign.Lease, _ time.Time) (int, error) {
	return l.meets(ctx, lease, l.recover)
}

func (l *takeoverLedger) Resolve(ctx context.Context, lease campaign.Lease, _ reception.Span, _ campaign.OnUncertain) (int, error) {
	return l.meets(ctx, lease, l.resolve)
}

func (l *takeoverLedger) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	if len(unposted) > 0 {
		return errors.New("nothing of it was asked for")
	}
	if lease.Epoch != 4 {
		return campaign.ErrFenced
	}
	if end, bounded := ctx.Deadline(); !bounded || time.Until(end) > 2*time.Second {
		return errors.New("this may take for ever")
	}
	l.released = append(l.released, lease.Index)
	return ctx.Err()
}

// A lease that is not used would keep everybody from the segment until it has run out.
func TestASegmentThatCannotBeTakenUpIsHandedBack(t *testing.T) {
	away := errors.New("connection refused")
	for _, tt := range []struct {
		name             string
		recover, resolve error
		ends             bool // the context, between claim and recovery
		taken, released  []int64
		err              bool
	}{
		{name: "no fault", taken: []int64{0, 1, 2}},
		{name: "Recover fails", recover: away, taken: []int64{0}, released: []int64{1, 2}, err: true},
		{name: "Resolve fails", resolve: away, taken: []int64{0}, released: []int64{1, 2}, err: true},
		{name: "the engine ends", recover: away, ends: true, taken: []int64{0}, released: []int64{1, 2}, err: true},
		{name: "another owner has it", recover: campaign.ErrFenced, taken: []int64{0, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				l := &takeoverLedger{recover: tt.recover, resolve: tt.resolve}
				if tt.ends {
					l.stop = stop
				}
				e, err := New(l, nil, nil, Options{Owner: "a"})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorker(e, "conn_1")
				w.planner.setRuns([]*run{{no: 1, connections: []string{"conn_1"}}})
				if err := w.claim(ctx, time.Now(), 72); (err != nil) != tt.err {
					t.Errorf("claim: %v, want an error: %v", err, tt.err)
				}
				if !slices.Equal(l.released, tt.released) {
					t.Errorf("handed back %v, want %v", l.released, tt.released)
				}
				for what, segments := range map[string]*[]*segment{"taken up": &w.planner.claimer.segments, "renewed": w.renewer.owned.Load()} {
					var got []int64
					if segments != nil {
						for _, s := range *segments {
							got = append(got, s.lease.Index)
						}
					}
					if !slices.Equal(got, tt.taken) {
						t.Errorf("%s are %v, want %v", what, got, tt.taken)
					}
				}
			})
		})
	}
}

// A take-over decides the doubts that are older than the run's doubt window.
func TestATakeOverDecidesDoubtsOlderThanTheWindow(t *testing.T) {
	for _, tt := range []struct {
		name      string
		lease     campaign.Lease
		resolve   error
		recovered bool
		at        int // its place beside another segment
	}{
		{"never owned", campaign.Lease{Segment: campaign.Segment{Lo: 5, Hi: 9}, Mark: 5}, nil, false, 1},
		{"owned, nothing begun", campaign.Lease{Segment: campaign.Segment{Lo: 5, Hi: 9}, Mark: 5, Recovered: true}, nil, true, 1},
		{"begun", campaign.Lease{Segment: campaign.Segment{Lo: 5, Hi: 9}, Mark: 6}, nil, true, 0},
		{"another resolves", campaign.Lease{Segment: campaign.Segment{Lo: 5, Hi: 9}, Mark: 6}, campaign.ErrFenced, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &claimLedger{recover: 1, over: 1, resolveErr: tt.resolve}
			if tt.resolve != nil {
				l.over = 0
			}
			w, runs, log := claiming(t, l, 1)
			w.holds(runs[0], 1)
			runs[0].doubtWindow, runs[0].policy = 50*time.Hour, campaign.UncertainResend
			now := time.Now()
			if err := w.planner.claimer.take(t.Context(), runs[0], tt.lease, now); err != nil {
				t.Fatal(err)
			}
			if len(w.planner.claimer.segments) != 2 || w.planner.claimer.segments[tt.at].lease.Lo != 5 {
				t.Fatalf("%d segments, want 2 with the new one at %d", len(w.planner.claimer.segments), tt.at)
			}
			s := w.planner.claimer.segments[tt.at]
			if !tt.recovered {
				if l.calls != 0 || s.dueBy(now) || w.number.counts.recovered.Load() != 0 || log.Len() > 0 {
					t.Errorf("%d calls, due %v, %d recovered, %s: want nothing", l.calls, s.dueBy(now), w.number.counts.recovered.Load(), log)
				}
				return
			}
			if want := now.Add(-50 * time.Hour); !l.older.Equal(want) || l.policy != campaign.UncertainResend || !l.at.Equal(now) {
				t.Errorf("doubts at %v; %q for those before %v, want at %v; %q before %v", l.at, l.policy, l.older, now, campaign.UncertainResend, want)
			}
			if !s.dueBy(now) || w.number.counts.recovered.Load() != 1 {
				t.Errorf("due %v, %d recovered, want true, 1", s.dueBy(now), w.number.counts.recovered.Load())
			}
			quiet := log.Len()
			l.recover, l.over = 0, 0
			if err := w.planner.claimer.take(t.Context(), runs[0], tt.lease, now); err != nil || log.Len() != quiet {
				t.Errorf("with nothing in doubt: %v, want nothing said:\n%s", err, log)
			}
			said := map[string]bool{"in doubt\" run=sale-1 connection=conn_1 deliveries=1\n": true,
				"is over\" run=sale-1 deliveries=1 policy=resend\n": tt.resolve == nil}
			for line, want := range said {
				if got := strings.Contains(log.String(), line); got != want {
					t.Errorf("said %q: %v, want %v, in\n%s", line, got, want, log)
				}
			}
		})
	}
}
