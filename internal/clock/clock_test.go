package clock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/clock"
)

// ledger has a clock that is apart from this process's.
type ledger struct {
	by  time.Duration
	err error
}

func (l *ledger) Clock(context.Context) (time.Time, error) { return time.Now().Add(l.by), l.err }

// What deletes or expires compares with the clock of the database, or of the service.
func TestNothingExpiresByAClockThatIsWrong(t *testing.T) {
	const none = 1000 * time.Hour
	for _, c := range []struct {
		what            string
		shared          bool
		ledger, service time.Duration // how far their clocks are ahead of ours
		counts          bool
		apart           time.Duration
	}{
		{"a database", true, 10 * time.Second, none, true, 0},
		{"a database, and we are ahead", true, -40 * 24 * time.Hour, none, false, 40 * 24 * time.Hour},
		{"a database, and we are behind", true, 2 * time.Minute, none, false, -2 * time.Minute},
		{"a file, and no answer of the service", false, 0, none, false, 0},
		{"a file, and we agree with the service", false, 0, -20 * time.Second, true, 0},
		{"a file, and we are ahead of the service", false, 0, -25 * time.Hour, false, 25 * time.Hour},
		{"a file, and we are behind the service", false, 0, 2 * time.Minute, false, -2 * time.Minute},
		{"a file with a later time", false, time.Hour, 0, false, -time.Hour},
		{"a file with a later time, and no answer", false, time.Hour, none, false, -time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := clock.New(clock.Options{Ledger: &ledger{by: c.ledger}, Shared: c.shared, Service: func() (time.Time, bool) {
				return time.Now().Add(c.service), c.service != none
			}})
			if _, ok := r.Now(); ok {
				t.Errorf("%s: a time counts before the first reading, want none", c.what)
			}
			r.Look(t.Context())
			want := c.ledger
			if !c.shared {
				want = c.service
			}
			at, ok := r.Now()
			if ok != c.counts || ok && time.Until(at) != want || r.Apart() != c.apart || (r.Fault() != "") != (c.apart != 0) {
				t.Errorf("%s: got the time %s ahead, %v, apart by %s (%q); want %v, apart by %s", c.what, time.Until(at), ok, r.Apart(), r.Fault(),
					c.counts, c.apart)
			}
		})
	}
}

// A reading is used for half a minute. What goes wrong, and that it is over, is logged once.
func TestAClockIsReadAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := &ledger{}, &bytes.Buffer{}
		r := clock.New(clock.Options{Ledger: l, Shared: true, Log: slog.New(slog.NewTextHandler(log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		for _, step := range []struct {
			by     time.Duration
			away   error
			wait   time.Duration
			counts bool
		}{
			{0, nil, time.Second, true},
			{-time.Hour, nil, clock.Every, false},
			{-time.Hour, nil, time.Minute, false},
			{0, nil, clock.Every, true},
			{0, errors.New("away"), 20 * time.Second, true},
			{0, errors.New("away"), time.Minute, false},
			{0, nil, clock.Every, true},
		} {
			l.by, l.err = step.by, step.away
			time.Sleep(step.wait)
			synctest.Wait()
			if _, ok := r.Now(); ok != step.counts {
				t.Errorf("%+v: a time counts: %v, want %v", step, ok, step.counts)
			}
		}
		stop()
		<-done
		if text := log.String(); strings.Count(text, "clock is wrong") != 1 || strings.Count(text, "right again") != 1 {
			t.Errorf("the log has\n%swant that the clock is wrong, and right again, once each", text)
		}
	})
}

func Example() {
	r := clock.New(clock.Options{Ledger: &ledger{by: -25 * time.Hour}, Shared: true})
	r.Look(context.Background())
	_, ok := r.Now()
	fmt.Println(ok, r.Fault())
	// Output: false this machine's clock is 25h0m0s ahead: nothing is deleted and nothing expires here until it is right
}
