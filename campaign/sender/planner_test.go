package sender

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// groupLedger is a ledger that notes reads and intents. It has every delivery, and due deferred
// ones.
type groupLedger struct {
	stubLedger
	began   time.Time
	claims  []time.Duration
	err     error // of Claim
	read    [][2]int64
	looked  int
	due     int
	intents []campaign.Intent
	took    time.Duration // for an intent
}

func (l *groupLedger) Claim(context.Context, campaign.Claim) ([]campaign.Lease, error) {
	l.claims = append(l.claims, time.Since(l.began))
	return nil, l.err
}

func (l *groupLedger) Deliveries(_ context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, _ error) {
	l.read = append(l.read, [2]int64{from, to})
	for seq := from; seq < to; seq++ {
		all = append(all, campaign.Delivery{Run: no, Seq: seq, Key: 100 + seq})
	}
	return all, nil
}

func (l *groupLedger) Due(_ context.Context, _ campaign.Lease, _ time.Time, n int) (all []campaign.Retry, _ error) {
	l.looked++
	for i := range min(l.due, n) {
		all = append(all, campaign.Retry{Delivery: campaign.Delivery{Run: 1, Seq: int64(i), Key: int64(i)}, Attempt: 2})
	}
	return all, nil
}

func (l *groupLedger) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	l.intents = append(l.intents, in...)
	time.Sleep(l.took)
	for _, i := range in {
		granted = append(granted, campaign.Granted{To: i.To})
	}
	return granted, nil
}

// planning is a worker of one run with a segment of 4,096 deliveries, at 72/s: groups of four.
func planning(t *testing.T, l *groupLedger, o Options) (*worker, *segment) {
	t.Helper()
	o.Owner = "a"
	e, err := New(l, nil, throttle.NewLocal(), o)
	if err != nil {
		t.Fatal(err)
	}
	l.began = time.Now()
	w := newWorker(e, "conn_1")
	r := &run{no: 1, id: "sale-1", connections: []string{"conn_1"}}
	s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Run: 1, Lo: 4096, Hi: 8192}, Mark: 4096, Until: time.Now().Add(time.Hour)},
		nil)
	s.checked = time.Now()
	w.planner.claimer.segments = []*segment{s}
	w.planner.setRuns([]*run{r})
	w.planner.claimer.claimedAt = time.Now() // nothing is to be claimed within this tick
	return w, s
}

// The planner fills up to two groups when one is left, and looks again when there may be something
// to do.
func TestThePlannerKeepsOneToTwoGroupsAhead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		queued int
		rate   float64 // messages per second
		asks   int     // deliveries
		wait   time.Duration
	}{
		{"a tick is short", 5, 72, 0, 400 * time.Millisecond},
		{"nothing is queued", 0, 72, 8, time.Second},
		{"three are queued", 3, 72, 5, time.Second},
		{"a group is queued", 4, 72, 4, time.Second},
		{"one is queued at a slow number", 1, 17.1, 0, time.Second},
		{"nothing is queued at a slow number", 0, 17.1, 2, time.Second},
		{"one is queued at a slower number", 1, 9, 1, time.Second},
		{"more than a group", 5, 72, 0, time.Second},
		{"an intent is limited", 0, 6000, 256, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &groupLedger{}
				o := Options{Pace: func(string) float64 { return tt.rate }}
				if tt.name == "a tick is short" {
					o.Tick = 100 * time.Millisecond
				}
				w, _ := planning(t, l, o)
				w.queue.push(blank(tt.queued))
				w.planner.own = processRate{perSecond: tt.rate, at: time.Now()}
				wait, err := w.planner.step(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				asks := 0
				for _, i := range l.intents {
					asks += int(i.To - i.From)
				}
				if asks != tt.asks || wait != tt.wait {
					t.Errorf("%d asked for, next step in %v, want %d, %v", asks, wait, tt.asks, tt.wait)
				}
			})
		})
	}
}

// The engine reads the runs often. A planner wakes when its runs are others than before.
func TestOnlyOtherRunsWakeThePlanner(t *testing.T) {
	w, s := planning(t, &groupLedger{}, Options{})
	more, elsewhere := &run{no: 2, connections: []string{"conn_1"}}, &run{no: 3, connections: []string{"conn_2"}}
	<-w.planner.poke
	for _, tt := range []struct {
		name  string
		runs  []*run
		wakes int
	}{
		{"the same run", []*run{s.run}, 0},
		{"a run of another number", []*run{s.run, elsewhere}, 0},
		{"one run more", []*run{s.run, more}, 1},
		{"one run less", []*run{more}, 1},
		{"none", nil, 1},
	} {
		if w.planner.setRuns(tt.runs); len(w.planner.poke) != tt.wakes {
			t.Errorf("%s: woken %d times, want %d", tt.name, len(w.planner.poke), tt.wakes)
		}
		select {
		case <-w.planner.poke:
		default:
		}
	}
}

// A step that asked the ledger knows that it answers and how long it took. The limits of the step
// before are forgotten.
func TestAStepKnowsWhatItLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &groupLedger{took: 30 * time.Millisecond}
		w, s := planning(t, l, Options{})
		w.planner.lanes.limit(s.run, campaign.Limit{By: campaign.ByRunRate, Detail: "x"})
		w.planner.lanes.publish([]*run{s.run}, func(*run) lane { return lane{} }, time.Now())
		wait, err := w.planner.step(t.Context())
		if err != nil || wait != time.Second || !w.planner.heard || w.planner.slow != 60*time.Millisecond {
			t.Errorf("%v, next in %v, heard %v, a group covers %v, want nil, 1s, true, 60ms", err, wait, w.planner.heard, w.planner.slow)
		}
		if got, want := w.planner.lanes.of(s.run), (lane{works: true, share: share{72, 1}}); got != want {
			t.Errorf("the step found %+v, want %+v", got, want)
		}
		s.lease.Mark = s.lease.Hi
		s.pending.Add(1)
		w.queue.remove(func(*attempt) bool { return true })
		if wait, err := w.planner.step(t.Context()); err != nil || wait != w.planner.e.o.Tick || w.planner.lanes.of(s.run).works {
			t.Errorf("with nothing to send: %v, next in %v, %+v, want nil, a tick, no work", err, wait, w.planner.lanes.of(s.run))
		}
	})
}

// While the ledger fails the planner tries after 0.1 s, twice as long each time, at most every 2 s.
func TestThePlannerTriesAtLeastEveryTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &groupLedger{err: errGone}
		w, s := planning(t, l, Options{})
		s.lease.Mark = s.lease.Hi
		s.pending.Add(1)
		w.planner.claimer.claimedAt = time.Time{}
		ctx, stop := context.WithCancel(t.Context())
		var planner sync.WaitGroup
		<-w.planner.poke // of setRuns; the planner would take it
		planner.Go(func() { w.planner.run(ctx) })
		time.Sleep(8 * time.Second)
		stop()
		planner.Wait()
		const ms = time.Millisecond
		if want := []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 5100 * ms, 7100 * ms}; !slices.Equal(l.claims, want) {
			t.Errorf("asked at %v, want %v", l.claims, want)
		}
		want := campaign.Limit{By: campaign.ByLedger, Detail: "the ledger does not answer: claim segments: connection refused"}
		if got := w.planner.lanes.of(s.run).limited; got != want {
			t.Errorf("limited by %+v, want the ledger", got)
		}
	})
}

// Deferred deliveries of an owned segment are looked for when one is due, and every 15 s.
func TestDeferredOnesAreLookedForEveryFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			ago   time.Duration
			due   time.Duration // of a known one, from now; 0: none is known
			has   int
			looks int
			again bool // there may be more
		}{
			{0, 0, 0, 0, false},
			{15*time.Second - 1, 0, 0, 0, false},
			{15 * time.Second, 0, 0, 1, false},
			{0, -1, 2, 1, false},
			{0, 1, 2, 0, false},
			{0, -1, 3, 1, true},
			{0, -1, 9, 1, true},
		} {
			l := &groupLedger{due: tt.has}
			w, s := planning(t, l, Options{})
			s.checked = now.Add(-tt.ago)
			if tt.due != 0 {
				s.due(now.Add(tt.due))
			}
			d, err := w.planner.draft(t.Context(), s, now, 3)
			if err != nil || l.looked != tt.looks || s.dueBy(now) != tt.again {
				t.Errorf("looked for %v ago: %v, %d looks, due again: %v, want nil, %d, %v", tt.ago, err, l.looked, s.dueBy(now), tt.looks, tt.again)
			}
			retries := 0
			if tt.looks > 0 {
				retries = min(tt.has, 3)
			}
			var keys []int64
			for seq := range int64(3 - retries) {
				keys = append(keys, 100+4096+seq)
			}
			for i := range int64(retries) {
				keys = append(keys, i)
			}
			if len(d.Retries) != retries || d.From != 4096 || d.To != int64(4096+3-retries) || !slices.Equal(d.Keys, keys) {
				t.Errorf("a draft of %d retries and %d..%d of %v, want %d, 4096..%d of %v", len(d.Retries), d.From, d.To, d.Keys, retries,
					4096+3-retries, keys)
			}
		}
	})
}

// Two seconds of the number's sending are read at once, at least 32 deliveries, at most a quarter
// of a segment, and no further than the segment's end.
func TestTwoSecondsOfSendingAreReadAhead(t *testing.T) {
	l, rate := &groupLedger{}, 0.0
	w, s := planning(t, l, Options{Pace: func(string) float64 { return rate }})
	for _, tt := range []struct {
		rate float64
		mark int64
		n    int
		want [2]int64
		rows int
	}{
		{1, 4096, 8, [2]int64{4096, 4128}, 8},
		{100, 4096, 256, [2]int64{4096, 4296}, 200},
		{5000, 4196, 2000, [2]int64{4196, 5220}, 1024},
		{5000, 8190, 8, [2]int64{8190, 8192}, 2},
	} {
		rate = tt.rate
		s.lease.Mark, s.buf = tt.mark, nil
		d, err := w.planner.draft(t.Context(), s, time.Now(), tt.n)
		if err != nil || l.read[len(l.read)-1] != tt.want || len(d.rows) != tt.rows {
			t.Errorf("at %d with %v/s: %v, read %v, %d in the draft, want nil, %v, %d", tt.mark, tt.rate, err, l.read[len(l.read)-1],
				len(d.rows), tt.want, tt.rows)
		}
	}
	n := len(l.read)
	if d, err := w.planner.draft(t.Context(), s, time.Now(), 1); err != nil || len(l.read) != n || len(d.rows) != 1 {
		t.Errorf("what is read ahead: %v, %d reads, %d in the draft, want nil, 0, 1", err, len(l.read)-n, len(d.rows))
	}
	s.lease.Mark, s.buf = s.lease.Hi, nil
	if d, err := w.planner.draft(t.Context(), s, time.Now(), 1); err != nil || len(l.read) != n || len(d.rows) != 0 {
		t.Errorf("when all was read: %v, %d reads, %d in the draft, want nil, 0, 0", err, len(l.read)-n, len(d.rows))
	}
}

// Two pokes at one instant cause one look.
func TestPokesOfOneInstantAreAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, 1} {
			e, err := New(nil, nil, nil, Options{Owner: "a", Jitter: func(purpose string, d time.Duration) time.Duration {
				if purpose == "engine poked" {
					return wait
				}
				return d
			}, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			e.Poke()
			began := time.Now()
			e.debounce(t.Context(), "engine", e.poke)
			if left := 1 - int(wait); len(e.poke) != left || time.Since(began) != wait {
				t.Errorf("after %v: %d pokes are left, want %d after %v", time.Since(began), len(e.poke), left, wait)
			}
			e.debounce(t.Context(), "engine", nil)
		}
	})
}

// Several calls that meet one fault have the innermost error in common.
func TestTheCauseOfAFaultIsItsInnermostError(t *testing.T) {
	err := fmt.Errorf("a: %w", fmt.Errorf("b: %w", errGone))
	if got := cause(err); got != "connection refused" {
		t.Errorf("the cause is %q, want %q", got, "connection refused")
	}
	if got := cause(errors.New("x")); got != "x" {
		t.Errorf("the cause is %q, want x", got)
	}
}
