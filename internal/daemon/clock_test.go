package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/clock"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// earlier is a ledger whose clock is behind this machine's.
type earlier struct{ by atomic.Int64 }

func (e *earlier) Clock(context.Context) (time.Time, error) {
	return time.Now().Add(-time.Duration(e.by.Load())), nil
}

// retired is a ledger that notes before when rows were deleted.
type retired struct {
	campaign.Ledger
	mu     sync.Mutex
	before []time.Time
}

func (r *retired) Retire(_ context.Context, before time.Time) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = append(r.before, before)
	return 0, nil
}

func (r *retired) all() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.before)
}

// A replica whose clock is wrong deletes nothing, and says so. One whose clock is right compares
// with the clock of the database.
func TestAWrongClockDeletesNoDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), ledger.Options{})
		if err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		defer l.Close()
		cfg, log, at := config.Default(), &notes{}, &earlier{}
		at.by.Store(int64(40 * 24 * time.Hour))
		cfg.Retention.Deliveries = campaign.Duration(32 * 24 * time.Hour)
		kept := &retired{Ledger: l}
		d := &Daemon{cfg: cfg, ledger: kept, owner: "a", log: logTo(log)}
		d.clock = clock.New(clock.Options{Ledger: at, Shared: true, Log: d.log})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { d.clock.Run(ctx); ended <- nil }()
		go func() { d.retain(ctx); ended <- nil }()
		time.Sleep(time.Hour)
		note, err := d.ready()
		before, logged := kept.all(), log.lines("clock is wrong")
		if len(before) != 0 || !strings.Contains(note, "960h0m0s ahead") || err != nil || len(logged) != 1 {
			t.Errorf("40 days ahead: deleted %v, ready says %q, %v, the log %q; want nothing deleted, and the difference", before, note, err,
				logged)
		}
		const behind = 30 * time.Second
		at.by.Store(int64(behind))
		time.Sleep(time.Minute)
		want := time.Now().Add(-behind - 32*24*time.Hour)
		note, err = d.ready()
		if before = kept.all(); len(before) == 0 || before[0].Sub(want).Abs() > time.Minute || note != "" || err != nil {
			t.Errorf("30 s ahead: deleted before %v, ready says %q, %v; want before %s, and nothing", before, note, err, want)
		}
		stop()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Errorf("got %v, want no error", err)
		}
	})
}
