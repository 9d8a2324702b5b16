// Package clock judges the clock of this process. What deletes or expires compares its times with a
// Reference, never with the clock of the process alone; schedules fire only while the two agree
// (docs/operations.md#when-a-clock-is-wrong). internal/daemon keeps one Reference for the process.
package clock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Most is how far the clock of a process may differ from the reference.
const Most = time.Minute

// Every is how often a Reference is read, and stale is the age from which a reading is not used.
const (
	Every = 5 * time.Second
	stale = 30 * time.Second
)

// ErrApart means that the clock of this process differs by more than Most.
var ErrApart = errors.New("this machine's clock differs from the ledger's by more than a minute")

// Source returns the time that what deletes or expires is compared with: Reference.Now. It is false
// while nothing may be deleted or expire.
type Source func() (time.Time, bool)

// Now calls the source. Without one, the clock of this process counts, as in tests.
func (s Source) Now() (time.Time, bool) {
	if s == nil {
		return time.Now(), true
	}
	return s()
}

// Before returns the time that lies d before Now, and the zero time, before which nothing is, while
// nothing may be deleted or expire.
func (s Source) Before(d time.Duration) time.Time {
	now, ok := s.Now()
	if !ok {
		return time.Time{}
	}
	return now.Add(-d)
}

// Ledger has a clock that all replicas share (campaign.FiringLedger).
type Ledger interface {
	Clock(ctx context.Context) (time.Time, error)
}

// Read returns the time by the ledger's clock, and how far the clock of this process is ahead of
// it: at least, because the answer may have taken long.
func Read(ctx context.Context, l Ledger) (at time.Time, ahead time.Duration, err error) {
	asked := time.Now()
	if at, err = l.Clock(ctx); err != nil {
		return at, 0, err
	}
	return at, aheadOf(at, asked, time.Now()), nil
}

// aheadOf is how far our clock is ahead of another one that showed at between asked and now.
func aheadOf(at, asked, now time.Time) time.Duration {
	switch {
	case at.Before(asked):
		return asked.Sub(at)
	case at.After(now):
		return -at.Sub(now)
	}
	return 0
}

// Options are what a Reference compares with. Ledger is required.
type Options struct {
	Ledger Ledger
	// Shared means that the ledger's clock is of another machine: a database server. Otherwise the
	// ledger tells only that the clock of the process is behind, and Service tells that it is
	// ahead.
	Shared bool
	// Service returns the time by the service's clock, as its last answer and the time since tell
	// it; false: it has not answered. It may be nil.
	Service func() (time.Time, bool)
	Log     *slog.Logger // nil discards
}

// Reference is the time that what deletes or expires is compared with. A nil Reference is the clock
// of this process.
type Reference struct {
	o Options

	mu       sync.Mutex
	at, read time.Time // the reference, and when it was read; zero: none is known
	apart    time.Duration
	told     bool
}

// New returns a Reference that knows no time yet.
func New(o Options) *Reference {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Reference{o: o}
}

// Now returns the time to compare with. It is false while the clock of this process is wrong, and
// while nothing has told whether it is: then nothing may be deleted or expire. A clock that is set
// meanwhile changes nothing, because the time since the last reading is measured without it.
func (r *Reference) Now() (time.Time, bool) {
	if r == nil {
		return time.Now(), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	since := time.Since(r.read)
	if r.at.IsZero() || since > stale || r.apart != 0 {
		return time.Time{}, false
	}
	return r.at.Add(since), true
}

// Apart is how far the clock of this process is ahead of the reference if it is wrong, otherwise 0.
func (r *Reference) Apart() time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apart
}

// Fault says that the clock is wrong; "" while it is not.
func (r *Reference) Fault() string {
	apart := r.Apart()
	switch {
	case apart > 0:
		return fmt.Sprintf("this machine's clock is %s ahead: nothing is deleted and nothing expires here until it is right", apart)
	case apart < 0:
		return fmt.Sprintf("this machine's clock is %s behind: nothing is deleted and nothing expires here until it is right", -apart)
	}
	return ""
}

// Now returns the source of a process that ends soon. It reads the ledger's clock each time. A
// ledger that is not shared is told nothing of the service's clock there, so nothing expires.
func Now(ctx context.Context, l Ledger, shared bool) Source {
	r := New(Options{Ledger: l, Shared: shared})
	return func() (time.Time, bool) {
		r.Look(ctx)
		return r.Now()
	}
}

// Run reads the reference every few seconds until ctx ends.
func (r *Reference) Run(ctx context.Context) {
	for {
		r.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(Every):
		}
	}
}

// Look reads the reference once. A ledger that does not answer leaves the last reading, which is
// not used for long.
func (r *Reference) Look(ctx context.Context) {
	at, ahead, err := Read(ctx, r.o.Ledger)
	if err != nil {
		return
	}
	if !r.o.Shared && ahead >= -Most {
		at, ahead = time.Time{}, 0
		if r.o.Service != nil {
			if told, ok := r.o.Service(); ok {
				now := time.Now()
				at, ahead = told, aheadOf(told, now, now)
			}
		}
	}
	if ahead.Abs() <= Most {
		ahead = 0
	}
	r.mu.Lock()
	r.at, r.read, r.apart = at, time.Now(), ahead.Round(time.Second)
	changed := (r.apart != 0) != r.told
	r.told = r.apart != 0
	r.mu.Unlock()
	switch {
	case changed && ahead != 0:
		r.o.Log.Error("this machine's clock is wrong: nothing is deleted and nothing expires here until it is right", "ahead",
			ahead.Round(time.Second))
	case changed:
		r.o.Log.Info("this machine's clock is right again: what is over is deleted and expires again")
	}
}
