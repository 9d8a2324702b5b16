package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

var sessionPromises = []promise{
	{"ASessionIsReadAsItWasStored", func(f *fixture) {
		one := campaign.BrowserSession{Hash: "aa", Key: "1a", By: "key 1a (desk)", CreatedAt: at(0), SeenAt: at(0)}
		two := campaign.BrowserSession{Hash: "bb", By: "ada@host", Once: true, CreatedAt: at(1), SeenAt: at(1)}
		for _, s := range []campaign.BrowserSession{one, two} {
			f.ok(f.l.AddSession(f.ctx, s, time.Time{}))
		}
		all, err := f.l.Sessions(f.ctx)
		f.ok(err)
		if diff := cmp.Diff([]campaign.BrowserSession{two, one}, all); diff != "" {
			f.Errorf("sessions -want +got:\n%s", diff)
		}
		if _, err := f.l.Session(f.ctx, "cc"); !errors.Is(err, campaign.ErrNoSession) {
			f.Errorf("a session that is not there: got %v, want ErrNoSession", err)
		}
	}},
	{"TheLatestRequestOfASessionStays", func(f *fixture) {
		f.ok(f.l.AddSession(f.ctx, campaign.BrowserSession{Hash: "aa", CreatedAt: at(0), SeenAt: at(0)}, time.Time{}))
		for _, seen := range []int{5, 3} {
			f.ok(f.l.SeeSession(f.ctx, "aa", at(seen)))
		}
		f.ok(f.l.SeeSession(f.ctx, "none", at(9)))
		got, err := f.l.Session(f.ctx, "aa")
		f.ok(err)
		if !got.SeenAt.Equal(at(5)) || !got.CreatedAt.Equal(at(0)) {
			f.Errorf("got %+v, want it seen at %v", got, at(5))
		}
	}},
	{"ASessionIsTakenOnce", func(f *fixture) {
		f.ok(f.l.AddSession(f.ctx, campaign.BrowserSession{Hash: "aa", Once: true, CreatedAt: at(0), SeenAt: at(0)}, time.Time{}))
		var taken, absent int
		var mu sync.Mutex
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				s, err := f.l.TakeSession(f.ctx, "aa")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && s.Once:
					taken++
				case errors.Is(err, campaign.ErrNoSession):
					absent++
				}
			})
		}
		calls.Wait()
		if taken != 1 || absent != 7 {
			f.Errorf("8 calls: got %d taken and %d absent, want 1 and 7", taken, absent)
		}
	}},
	{"ANewSessionRemovesThoseThatEnded", func(f *fixture) {
		for i, hash := range []string{"aa", "bb", "cc"} {
			f.ok(f.l.AddSession(f.ctx, campaign.BrowserSession{Hash: hash, CreatedAt: at(i), SeenAt: at(i)}, at(i-1)))
		}
		all, err := f.l.Sessions(f.ctx)
		f.ok(err)
		if len(all) != 2 || all[1].Hash != "bb" {
			f.Errorf("got %+v, want cc and bb", all)
		}
	}},
}

// session stores a session and returns its hash.
func (f *fixture) session() string {
	f.Helper()
	f.ids++
	hash := fmt.Sprint("session ", f.ids)
	f.ok(f.l.AddSession(f.ctx, campaign.BrowserSession{Hash: hash, CreatedAt: at(0), SeenAt: at(0)}, time.Time{}))
	return hash
}

var sessionFaults = []faultyMethod{
	{"AddSession", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		s := campaign.BrowserSession{Hash: fmt.Sprint("session ", f.ids), CreatedAt: at(0), SeenAt: at(0)}
		return func(ctx context.Context) error { return f.l.AddSession(ctx, s, time.Time{}) }
	}},
	{"Session", func(f *fixture, _ Faults) func(context.Context) error {
		hash := f.session()
		return func(ctx context.Context) error { _, err := f.l.Session(ctx, hash); return err }
	}},
	{"Sessions", func(f *fixture, _ Faults) func(context.Context) error {
		f.session()
		return func(ctx context.Context) error { _, err := f.l.Sessions(ctx); return err }
	}},
	{"SeeSession", func(f *fixture, _ Faults) func(context.Context) error {
		hash := f.session()
		return func(ctx context.Context) error { return f.l.SeeSession(ctx, hash, at(1)) }
	}},
	{"TakeSession", func(f *fixture, _ Faults) func(context.Context) error {
		hash := f.session()
		return func(ctx context.Context) error { _, err := f.l.TakeSession(ctx, hash); return err }
	}},
}
