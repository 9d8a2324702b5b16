package lane

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// owned is a ledger with three segments that an earlier owner left; the second meets a fault.
type owned struct {
	Ledger
	recover, resolve error
	stop             func() // called before the fault
	released         []int64
}

func (l *owned) Claim(context.Context, campaign.Claim) (all []campaign.Lease, _ error) {
	for i := range int64(3) {
		all = append(all, campaign.Lease{Segment: campaign.Segment{Run: 1, Index: i, Lo: 10 * i, Hi: 10*i + 10}, Epoch: 4, Mark: 10 * i, Recovered: true})
	}
	return all, nil
}

func (l *owned) meets(ctx context.Context, lease campaign.Lease, err error) (int, error) {
	if lease.Index != 1 || err == nil {
		return 0, nil
	}
	if l.stop != nil {
		l.stop()
		return 0, ctx.Err()
	}
	return 0, err
}

func (l *owned) Recover(ctx context.Context, lease campaign.Lease, _ time.Time) (int, error) {
	return l.meets(ctx, lease, l.recover)
}

func (l *owned) Resolve(ctx context.Context, lease campaign.Lease, _ time.Time, _ campaign.OnUncertain) (int, error) {
	return l.meets(ctx, lease, l.resolve)
}

func (l *owned) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	if len(unposted) > 0 {
		return errors.New("nothing of it was asked for")
	}
	if lease.Epoch != 4 {
		return campaign.ErrFenced
	}
	if _, bounded := ctx.Deadline(); !bounded {
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
				l := &owned{recover: tt.recover, resolve: tt.resolve}
				if tt.ends {
					l.stop = stop
				}
				e, err := New(l, nil, nil, Options{Owner: "a"})
				if err != nil {
					t.Fatal(err)
				}
				p := newPacer(e, "conn_1")
				p.setRuns([]*run{{no: 1, connections: []string{"conn_1"}}})
				if err := p.claim(ctx, time.Now(), 72); (err != nil) != tt.err {
					t.Errorf("claim: %v", err)
				}
				if !slices.Equal(l.released, tt.released) {
					t.Errorf("handed back %v, want %v", l.released, tt.released)
				}
				for what, segments := range map[string]*[]*segment{"taken up": &p.segments, "renewed": p.segShared.Load()} {
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
