package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
func composing(t *testing.T, l *drawer, lim throttle.Limiter) (*worker, []*segment) {
	t.Helper()
	e, err := New(l, nil, lim, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	p := newWorker(e, "conn_1")
	var runs []*run
	for i := range int64(2) {
		r := &run{no: campaign.RunNo(i + 1), id: "run-" + string(rune('1'+i)), connections: []string{"conn_1"}}
		s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Run: r.no, Index: i, Hi: 10}, Mark: 5, Until: time.Now().Add(time.Hour)}, nil)
		s.checked = time.Now()
		runs, p.planner.segments = append(runs, r), append(p.planner.segments, s)
	}
	p.planner.setRuns(runs)
	p.planner.turn = 1 // the first run's turn is next
	p.planner.segments[0].due(time.Now())
	return p, p.planner.segments
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
				_, err := p.planner.intend(t.Context(), time.Now(), 8)
				if wanted := call != "none" && call != "held"; (err != nil) != wanted || (l.granted == 0) == (call == "none") {
					t.Fatalf("at first: %v, %d granted", err, l.granted)
				}
				time.Sleep(p.planner.e.o.Tick)
				for _, s := range segments {
					s.run.held.Store(false) // the run is resumed
				}
				if _, err := p.planner.intend(t.Context(), time.Now(), 8); err != nil || l.granted != 1 {
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
		if _, err := p.planner.intend(t.Context(), time.Now(), 8); !errors.Is(err, campaign.ErrUnknownCommit) {
			t.Fatal(err)
		}
		if asked, err := p.planner.intend(t.Context(), time.Now(), 8); asked || err != nil || l.granted != 0 {
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
				p.planner.segments = segments[:1]
				p.planner.setRuns([]*run{s.run})
				s.run.rate = 10
				s.nextDue.Store(0)
				s.lease.Mark = s.lease.Hi
				s.pending.Add(1) // a slow post keeps it from being parked
				tt.set(s, time.Now())
				if _, _, err := p.planner.compose(t.Context(), time.Now(), 8); err != nil {
					t.Fatal(err)
				}
				if asked := lim.asked > 0; asked != tt.asked {
					t.Errorf("slots were asked for: %v, want %v", asked, tt.asked)
				}
			})
		})
	}
}

// teller is a limiter that gives what it is told to, and notes what it was asked for.
type teller struct {
	slots throttle.Slots
	err   error
	asked []string
}

func (l *teller) Lease(_ context.Context, key string, rate float64, n int) (throttle.Slots, error) {
	l.asked = append(l.asked, fmt.Sprintf("%s %v %d", key, rate, n))
	return l.slots, l.err
}

// A run's own limit is asked for as many slots as the run can use, and again when half of what it may plan ahead is used.
func TestARunsOwnLimitIsAskedAgainInTime(t *testing.T) {
	gap := 100 * time.Millisecond
	for _, tt := range []struct {
		name  string
		slots throttle.Slots // First is added to now
		err   error
		n     int
		again time.Duration // when it may be asked again
		bound string
		fault string
	}{
		{"all", throttle.Slots{N: 8, Interval: gap}, nil, 8, 0, "", ""},
		{"a part", throttle.Slots{N: 7, Interval: gap}, nil, 7, 600*time.Millisecond - throttle.Horizon/2, "cap", ""},
		{"one", throttle.Slots{N: 1, Interval: gap}, nil, 1, 0, "cap", ""},
		{"none", throttle.Slots{Wait: 700 * time.Millisecond}, nil, 0, 700 * time.Millisecond, "cap", ""},
		{"not to be asked", throttle.Slots{}, throttle.ErrUnavailable, 0, 0, "", ""},
		{"a fault", throttle.Slots{}, errGone, 0, 0, "", "lease the campaign's own slots: connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := &teller{slots: tt.slots, err: tt.err}
				p, s := planning(t, &pad{}, Options{})
				p.planner.e.limiter = lim
				p.planner.limits = map[campaign.RunNo]limitedBy{}
				<-p.planner.poke
				now, r := time.Now(), s.run
				lim.slots.First = now
				r.rate = 0.5
				p.number.unasked(now, errGone) // as it was before
				got := map[*run][]time.Time{}
				n, err := p.planner.capped(t.Context(), r, now, 8, got)
				if n != tt.n || len(got[r]) != n || n > 1 && got[r][1].Sub(now) != gap || !slices.Equal(lim.asked, []string{"run:sale-1 0.5 8"}) {
					t.Errorf("%d slots at %v for %q, want %d, 100ms apart", n, got[r], lim.asked, tt.n)
				}
				if said := fmt.Sprint(err); err != nil && (said != tt.fault || !errors.Is(err, errGone)) || (err != nil) != (tt.fault != "") {
					t.Errorf("%v, want %q", err, tt.fault)
				}
				if p.planner.limits[1].limit != tt.bound || (p.number.noSlot.at.IsZero() != (tt.err == nil)) {
					t.Errorf("bound by %q, the limiter answers: %v, want %q, %v", p.planner.limits[1].limit, p.number.noSlot.at.IsZero(), tt.bound, tt.err == nil)
				}
				if tt.again <= 0 {
					return
				}
				for _, at := range []time.Duration{tt.again - 1, tt.again} {
					p.planner.limits = map[campaign.RunNo]limitedBy{}
					asked := len(lim.asked)
					if _, err := p.planner.capped(t.Context(), r, now.Add(at), 8, got); err != nil || len(lim.asked) > asked != (at == tt.again) || p.planner.limits[1].limit != "cap" {
						t.Errorf("after %v: %v, asked: %v, bound by %q, want asked: %v and cap", at, err, len(lim.asked) > asked, p.planner.limits[1].limit, at == tt.again)
					}
				}
				time.Sleep(tt.again)
				synctest.Wait()
				if len(p.planner.poke) != 1 {
					t.Error("the planner is not woken when the limit may be asked again")
				}
			})
		})
	}
}

// Runs of a number share a group, in turns; one that may not send leaves its share to those after it.
func TestRunsOfANumberShareItsGroups(t *testing.T) {
	for _, tt := range []struct {
		name  string
		group int
		set   func(first, second *segment)
		want  []string // of successive groups: run:deliveries
	}{
		{"two", 8, nil, []string{"2:4 1:4", "1:4 2:4"}},
		{"an odd group", 3, nil, []string{"2:1 1:2", "1:1 2:2"}},
		{"one delivery", 1, nil, []string{"2:1", "1:1"}},
		{"one is held", 8, func(first, _ *segment) { first.run.held.Store(true) }, []string{"2:4", "2:8"}},
		{"one is dropped", 8, func(_, second *segment) { second.run.drop(campaign.OverLimit) }, []string{"1:8", "1:4"}},
		{"one ends", 8, func(_, second *segment) { second.lease.Hi = second.lease.Mark + 1 }, []string{"2:1 1:7", "1:4 2:1"}},
		{"a lease runs out", 8, func(first, _ *segment) { first.until.Store(time.Now().Add(3 * time.Second).UnixNano()) }, []string{"2:4", "2:8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, first := planning(t, &pad{}, Options{})
				second := newSegment(&run{no: 2, connections: []string{"conn_1"}}, first.lease, nil)
				second.checked = first.checked
				p.planner.segments = append(p.planner.segments, second)
				p.planner.setRuns([]*run{first.run, second.run})
				if tt.set != nil {
					tt.set(first, second)
				}
				for _, want := range tt.want {
					drafts, _, err := p.planner.compose(t.Context(), time.Now(), tt.group)
					var got []string
					for _, d := range drafts {
						got = append(got, fmt.Sprintf("%d:%d", d.seg.run.no, len(d.rows)))
					}
					if said := strings.Join(got, " "); err != nil || said != want {
						t.Errorf("%v, a group of %q, want nil, %q", err, said, want)
					}
				}
			})
		})
	}
}

// A segment is work for its own run, while its lease holds and something of it is left.
func TestASegmentIsWorkForItsOwnRun(t *testing.T) {
	for _, tt := range []struct {
		name      string
		set       func(*segment)
		work, use bool
	}{
		{"deliveries are left", func(*segment) {}, true, true},
		{"nothing is left", func(s *segment) { s.lease.Mark = s.lease.Hi }, false, false},
		{"a retry comes later", func(s *segment) { s.lease.Mark = s.lease.Hi; s.due(time.Now().Add(time.Hour)) }, true, false},
		{"the lease is lost", func(s *segment) { s.lost.Store(true) }, false, false},
	} {
		p, s := planning(t, &pad{}, Options{})
		tt.set(s)
		if work, use := p.planner.hasWork(s.run), p.planner.canUse(s.run, time.Now()); work != tt.work || use != tt.use {
			t.Errorf("%s: work %v, now %v, want %v, %v", tt.name, work, use, tt.work, tt.use)
		}
		s.run.rate, p.planner.limits = 5, map[campaign.RunNo]limitedBy{}
		if n, err := p.planner.capped(t.Context(), s.run, time.Now(), 3, map[*run][]time.Time{}); err != nil || n > 0 != tt.use {
			t.Errorf("%s: %v, %d slots, want nil and some: %v", tt.name, err, n, tt.use)
		}
		other := &run{no: 2}
		if p.planner.hasWork(other) || p.planner.canUse(other, time.Now()) {
			t.Errorf("%s: it is work for another run, want not", tt.name)
		}
	}
}
