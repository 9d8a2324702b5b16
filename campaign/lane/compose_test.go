package lane

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/throttle"
)

// till is a limiter that has a slot for everybody and counts who asks; fails, but for the run it names.
type till struct {
	asked int
	fails string
	err   error
}

func (l *till) Lease(_ context.Context, key string, _ float64, n int) (throttle.Slots, error) {
	l.asked++
	if key == l.fails && l.err != nil {
		err := l.err
		l.err = nil
		return throttle.Slots{}, err
	}
	return throttle.Slots{First: time.Now(), Interval: time.Millisecond, N: n}, nil
}

// drawer is a ledger with one deferred delivery in the first segment. Each of its calls may fail once.
type drawer struct {
	Ledger
	fails   map[string]error // by call; Due 2 is that of the second segment
	granted int              // retries
}

func (l *drawer) fault(call string) error {
	err := l.fails[call]
	delete(l.fails, call)
	return err
}

func (l *drawer) Due(_ context.Context, lease campaign.Lease, now time.Time, n int) ([]campaign.Retry, error) {
	if lease.Index == 1 {
		return nil, l.fault("Due 2")
	}
	if err := l.fault("Due"); err != nil || l.granted > 0 {
		return nil, err
	}
	return []campaign.Retry{{Delivery: campaign.Delivery{Run: 1, Seq: 3}, Attempt: 2}}, nil
}

func (l *drawer) Deliveries(context.Context, campaign.RunNo, int64, int64) ([]campaign.Delivery, error) {
	return nil, l.fault("Deliveries")
}

func (l *drawer) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	if err := l.fault("Intend"); err != nil {
		return nil, err
	}
	held := l.fault("held") != nil
	for _, i := range in {
		if !held {
			l.granted += len(i.Retries)
		}
		granted = append(granted, campaign.Granted{To: i.To, Held: held})
	}
	return granted, nil
}

// composing is a pacer with a segment of each of two runs; of the first a delivery is due.
func composing(t *testing.T, l *drawer, lim throttle.Limiter) (*pacer, []*segment) {
	t.Helper()
	e, err := New(l, nil, lim, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	p := newPacer(e, "conn_1")
	var runs []*run
	for i := range int64(2) {
		r := &run{no: campaign.RunNo(i + 1), id: "run-" + string(rune('1'+i)), connections: []string{"conn_1"}}
		s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Run: r.no, Index: i, Hi: 10}, Mark: 5, Until: time.Now().Add(time.Hour)})
		s.checked = time.Now()
		runs, p.segments = append(runs, r), append(p.segments, s)
	}
	p.setRuns(runs)
	p.turn = 1 // the first run's turn is next
	p.segments[0].due(time.Now())
	return p, p.segments
}

// A fault of the ledger is over in a moment; the next search for what is deferred would be 15 s later.
func TestARetryIsDueStillWhenItsIntentFails(t *testing.T) {
	away := errors.New("connection refused")
	for _, call := range []string{"none", "Due", "Deliveries", "Due 2", "cap", "Intend", "held"} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &drawer{fails: map[string]error{call: away}}
				lim := &till{}
				p, segments := composing(t, l, lim)
				segments[1].due(time.Now()) // it is searched too
				if call == "cap" {
					segments[1].run.rate, lim.fails, lim.err = 10, "run:run-2", away
				}
				_, err := p.intend(t.Context(), time.Now(), 8)
				if wanted := call != "none" && call != "held"; (err != nil) != wanted || (l.granted == 0) == (call == "none") {
					t.Fatalf("at first: %v, %d granted", err, l.granted)
				}
				time.Sleep(p.e.o.Tick)
				for _, s := range segments {
					s.run.held.Store(false) // the run is resumed
				}
				if _, err := p.intend(t.Context(), time.Now(), 8); err != nil || l.granted != 1 {
					t.Errorf("at the next step: %v, %d retries granted, want one", err, l.granted)
				}
			})
		})
	}
}

// The commit whose answer is lost may have granted the retry: it is left to the next owner.
func TestARetryWhoseCommitIsUnknownIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &drawer{fails: map[string]error{"Intend": campaign.ErrUnknownCommit}}
		p, _ := composing(t, l, &till{})
		if _, err := p.intend(t.Context(), time.Now(), 8); !errors.Is(err, campaign.ErrUnknownCommit) {
			t.Fatal(err)
		}
		if asked, err := p.intend(t.Context(), time.Now(), 8); asked || err != nil || l.granted != 0 {
			t.Errorf("asked again: %v %v, %d granted", asked, err, l.granted)
		}
	})
}

// A slot of the campaign's own limit that nobody uses is lost to the numbers that could.
func TestOwnSlotsAreAskedForWhenSomethingMayBeSent(t *testing.T) {
	shut, err := plan.ParseWindow(campaign.Window{Hours: "09:00-18:00"}) // a bubble begins at midnight
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		set   func(s *segment, now time.Time)
		asked bool
	}{
		{"deliveries are left", func(s *segment, _ time.Time) { s.lease.Mark = 5 }, true},
		{"a retry is due", func(s *segment, now time.Time) { s.due(now) }, true},
		{"a retry is minutes away", func(s *segment, now time.Time) { s.due(now.Add(5 * time.Minute)) }, false},
		{"no retry is known", func(*segment, time.Time) {}, false},
		{"the lease runs out", func(s *segment, now time.Time) { s.lease.Mark = 5; s.until.Store(now.Add(time.Second).UnixNano()) }, false},
		{"the window is shut", func(s *segment, _ time.Time) { s.lease.Mark = 5; s.run.window = shut }, false},
		{"the lease is lost", func(s *segment, _ time.Time) { s.lease.Mark = 5; s.lost.Store(true) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := &till{}
				p, segments := composing(t, &drawer{}, lim)
				s := segments[0]
				p.segments = segments[:1]
				p.setRuns([]*run{s.run})
				s.run.rate = 10
				s.nextDue.Store(0)
				s.lease.Mark = s.lease.Hi
				s.pending.Add(1) // a slow post keeps it from being parked
				tt.set(s, time.Now())
				if _, _, err := p.compose(t.Context(), time.Now(), 8); err != nil {
					t.Fatal(err)
				}
				if asked := lim.asked > 0; asked != tt.asked {
					t.Errorf("slots were asked for: %v, want %v", asked, tt.asked)
				}
			})
		})
	}
}
