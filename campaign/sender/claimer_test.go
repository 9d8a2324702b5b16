package sender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// claimLedger is a ledger that notes each claim, answers with the leases that it is given, and
// counts calls of Recover and Resolve.
type claimLedger struct {
	stubLedger
	asked         []campaign.Claim
	has           map[bool][]campaign.Lease // by Claim.Begun; given once
	fails         map[bool]error
	recover, over int // what Recover and Resolve found
	resolveErr    error
	at, older     time.Time
	policy        campaign.OnUncertain
	calls         int // of Recover and Resolve
	free          []campaign.FreeSegment
	freeErr       error
	looks         [][]campaign.RunNo // calls of FreeSegments
}

func (l *claimLedger) FreeSegments(_ context.Context, runs []campaign.RunNo) ([]campaign.FreeSegment, error) {
	l.looks = append(l.looks, slices.Clone(runs))
	return l.free, l.freeErr
}

func (l *claimLedger) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	c.Runs = slices.Clone(c.Runs)
	l.asked = append(l.asked, c)
	has := l.has[c.Begun]
	delete(l.has, c.Begun)
	return has, l.fails[c.Begun]
}

func (l *claimLedger) Recover(_ context.Context, _ campaign.Lease, at time.Time) (int, error) {
	l.at, l.calls = at, l.calls+1
	return l.recover, nil
}

func (l *claimLedger) Resolve(_ context.Context, _ campaign.Lease, began reception.Span, p campaign.OnUncertain) (int, error) {
	l.older, l.policy, l.calls = began.Until, p, l.calls+1
	return l.over, l.resolveErr
}

func (l *claimLedger) Release(_ context.Context, lease campaign.Lease, _ []int64) error {
	if lease.Epoch == 0 {
		return campaign.ErrFenced
	}
	return errGone
}

// claiming is a worker of n runs, numbered from 1.
func claiming(t *testing.T, l *claimLedger, n int) (*worker, []*run, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	e, err := New(l, nil, nil, Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(e, "conn_1")
	var runs []*run
	for i := range n {
		runs = append(runs, &run{no: campaign.RunNo(i + 1), id: fmt.Sprintf("sale-%d", i+1), connections: []string{"conn_1"}})
	}
	w.planner.setRuns(runs)
	return w, runs, &log
}

// claim does this part of a step of the planner.
func (w *worker) claim(ctx context.Context, now time.Time, rate float64) error {
	asked, err := w.planner.claimer.claim(ctx, w.planner.runsInTurn(), now, rate)
	w.planner.heard = asked
	return err
}

// holds gives the planner n segments of r that have deliveries to send.
func (w *worker) holds(r *run, n int) {
	for range n {
		w.planner.claimer.segments = append(w.planner.claimer.segments, newSegment(r, campaign.Lease{Segment: campaign.Segment{Hi: 10}}, nil))
	}
}

// A death strands what a number holds: 5 s of sending, and one segment more.
func TestANumberHoldsFiveSecondsOfWork(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		most int
	}{{1, 2}, {72, 2}, {819, 2}, {820, 3}, {1638, 3}, {1639, 4}, {4915, 7}, {4916, 8}, {5735, 8}, {50000, 8}} {
		for _, busy := range []int{tt.most - 1, tt.most} {
			l := &claimLedger{}
			w, runs, _ := claiming(t, l, 1)
			w.holds(runs[0], busy+2)
			w.planner.claimer.segments[0].lost.Store(true) // these two have nothing to send
			w.planner.claimer.segments[1].lease.Mark = 10
			for _, s := range w.planner.claimer.segments[2:] {
				s.lease.Mark = 9
			}
			if err := w.claim(t.Context(), time.Now(), tt.rate); err != nil {
				t.Fatal(err)
			}
			if asked := len(l.asked) > 0; asked != (busy < tt.most) || w.planner.heard != asked {
				t.Errorf("at %v/s with %d segments it asks: %v, heard: %v, want %v", tt.rate, busy, asked, w.planner.heard, busy < tt.most)
			}
		}
	}
}

// A number takes up what it can send: a slow one leaves the rest of a list to the others.
func TestANumberClaimsWhenItsWorkIsNearlyDone(t *testing.T) {
	for left, want := range map[int64]bool{4096: false, 360: false, 359: true} {
		l := &claimLedger{}
		w, runs, _ := claiming(t, l, 1)
		w.holds(runs[0], 1)
		w.planner.claimer.segments[0].lease.Hi = left
		if err := w.claim(t.Context(), time.Now(), 72); err != nil {
			t.Fatal(err)
		}
		if asked := len(l.asked) > 0; asked != want {
			t.Errorf("at 72/s with %d deliveries it asks: %v, want %v", left, asked, want)
		}
	}
}

// A run that has nothing to send yet comes first, and a long one does not keep it waiting.
func TestRunsWithLessInHandAreClaimedFirst(t *testing.T) {
	for _, tt := range []struct {
		busy [3]int // segments of runs 1 to 3
		turn int
		want []campaign.RunNo
	}{
		{[3]int{0, 0, 0}, 0, []campaign.RunNo{1, 2, 3}},
		{[3]int{0, 0, 0}, 1, []campaign.RunNo{2, 3, 1}},
		{[3]int{0, 0, 0}, 5, []campaign.RunNo{3, 1, 2}},
		{[3]int{1, 0, 0}, 0, []campaign.RunNo{2, 3, 1}},
		{[3]int{2, 0, 0}, 0, []campaign.RunNo{2, 3}},
		{[3]int{1, 1, 0}, 2, []campaign.RunNo{3}},
	} {
		l := &claimLedger{}
		w, runs, _ := claiming(t, l, 3)
		for i, n := range tt.busy {
			w.holds(runs[i], n)
		}
		w.planner.turn = tt.turn
		if err := w.claim(t.Context(), time.Now(), 72); err != nil {
			t.Fatal(err)
		}
		want := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: tt.want, Max: 1, Lease: 15 * time.Second}
		if len(l.asked) != 1 || !reflect.DeepEqual(l.asked[0], want) {
			t.Errorf("holding %v at turn %d it asks %+v, want %+v", tt.busy, tt.turn, l.asked, want)
		}
	}
}

// A number that has enough claims the segments that the engine found to be begun, until it holds 8
// more of them. After a claim that leaves nothing it waits for the next look.
func TestBegunSegmentsAreClaimedOnceFound(t *testing.T) {
	looked := time.Now()
	any, mine := campaign.FreeSegment{Run: 1}, campaign.FreeSegment{Run: 1, Connection: "conn_1"}
	for _, tt := range []struct {
		name string
		held int
		free []campaign.FreeSegment
		left time.Duration // until the look that left nothing to claim, from this one
		has  bool
		want bool
	}{
		{"nothing was found", 2, nil, -time.Second, false, false},
		{"of another run", 2, []campaign.FreeSegment{{Run: 2}}, -time.Second, false, false},
		{"of another connection", 2, []campaign.FreeSegment{{Run: 1, Connection: "conn_2"}}, -time.Second, false, false},
		{"for any connection", 2, []campaign.FreeSegment{any}, -time.Second, false, true},
		{"for this connection", 2, []campaign.FreeSegment{mine}, -time.Second, false, true},
		{"the look left nothing", 2, []campaign.FreeSegment{any}, 0, false, false},
		{"10 segments held", 10, []campaign.FreeSegment{any}, -time.Second, false, true},
		{"11 segments held", 11, []campaign.FreeSegment{any}, -time.Second, false, false},
		{"something is there", 2, []campaign.FreeSegment{any}, -time.Second, true, true},
		{"it still asks for more", 1, []campaign.FreeSegment{any}, -time.Second, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &claimLedger{has: map[bool][]campaign.Lease{}}
			if tt.has {
				l.has[true] = []campaign.Lease{{Segment: campaign.Segment{Run: 1, Hi: 9}}}
			}
			w, runs, _ := claiming(t, l, 1)
			w.planner.e.begun.Store(newFreeSegments(looked, nil, tt.free...))
			w.holds(runs[0], tt.held)
			before := looked.Add(tt.left)
			w.planner.claimer.begunAt = before
			if err := w.claim(t.Context(), looked, 72); err != nil {
				t.Fatal(err)
			}
			asked := slices.ContainsFunc(l.asked, func(c campaign.Claim) bool {
				return c.Begun && slices.Equal(c.Runs, []campaign.RunNo{1}) &&
					c.Max == 1
			})
			if asked != tt.want {
				t.Fatalf("it asks %+v, want of what was begun: %v", l.asked, tt.want)
			}
			if asked && !w.planner.heard {
				t.Error("the ledger answered, but the step did not hear of it")
			}
			want := before // it asks again at once: there may be more
			if asked && !tt.has {
				want = looked
			}
			if len(tt.free) > 0 && tt.want && !w.planner.claimer.begunAt.Equal(want) {
				t.Errorf("the last look that left nothing is %v, want %v", w.planner.claimer.begunAt, want)
			}
			if w.planner.claimer.claimedAt.IsZero() != tt.has {
				t.Errorf("the next claim is due at once: %v, want %v", w.planner.claimer.claimedAt.IsZero(), tt.has)
			}
			n := len(l.asked)
			if err := w.claim(t.Context(), looked.Add(w.planner.e.o.Tick-1), 72); err != nil || !tt.has && len(l.asked) != n {
				t.Errorf("within a tick it asks %d times more (%v), want 0", len(l.asked)-n, err)
			}
		})
	}
}

// The engine asks once a second, for all runs that are sent, whatever its loop does. It wakes the
// planners when it found something.
func TestTheEngineAsksOnceASecondForWhatWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &claimLedger{free: []campaign.FreeSegment{{Run: 2, Begun: true}, {Run: 1}}}
		w, runs, _ := claiming(t, l, 2)
		e := w.planner.e
		e.workers[w.number.connection] = w
		<-w.planner.poke // of setRuns
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { e.watchBegun(ctx) })
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if len(l.looks) > 0 {
			t.Errorf("without a run it asked for %v, want no question", l.looks)
		}
		e.mu.Lock()
		e.runs = map[campaign.RunNo]*run{2: runs[1], 1: runs[0]}
		e.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if want := [][]campaign.RunNo{{1, 2}, {1, 2}}; !reflect.DeepEqual(l.looks, want) {
			t.Errorf("in 2 s it asked for %v, want %v", l.looks, want)
		}
		if free, own := e.begun.Load().of(2, "conn_1"); !free || own {
			t.Errorf("of run 2: free %v, own %v, want true, false", free, own)
		}
		select {
		case <-w.planner.poke:
		default:
			t.Error("the planner was not woken")
		}
		before := e.begun.Load()
		e.mu.Lock()
		l.freeErr = errGone
		e.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(l.looks) != 3 || e.begun.Load() != before {
			t.Errorf("after %d questions, the last of which failed, the answer is %+v, want 3 and %+v", len(l.looks), e.begun.Load(), before)
		}
		stop()
		watching.Wait()
	})
}

// The engine takes up its leased segments before it asks for more. Without any it waits for a tick.
func TestALeasedSegmentIsTakenUpFirst(t *testing.T) {
	l := &claimLedger{has: map[bool][]campaign.Lease{false: {{Segment: campaign.Segment{Run: 2, Lo: 5, Hi: 9}, Mark: 5}}}}
	w, runs, _ := claiming(t, l, 2)
	w.holds(runs[0], 2)
	now := time.Now()
	for i, tt := range []struct {
		at             time.Duration
		asked, segment int
	}{{0, 1, 3}, {0, 2, 3}, {w.planner.e.o.Tick - 1, 2, 3}, {w.planner.e.o.Tick, 3, 3}} {
		if i == 1 {
			w.planner.claimer.segments[2].lease.Mark = 9
		}
		if err := w.claim(t.Context(), now.Add(tt.at), 72); err != nil {
			t.Fatal(err)
		}
		if len(l.asked) != tt.asked || len(w.planner.claimer.segments) != tt.segment {
			t.Errorf("claim %d: asked %d times, %d segments, want %d, %d", i, len(l.asked), len(w.planner.claimer.segments), tt.asked, tt.segment)
		}
	}
}

// A claim that fails says which one did. A lease that cannot be handed back is named.
func TestAClaimThatFailsSaysWhatItWasFor(t *testing.T) {
	l := &claimLedger{fails: map[bool]error{false: errGone, true: errGone}}
	w, runs, _ := claiming(t, l, 1)
	if err := w.claim(t.Context(), time.Now(), 72); !errors.Is(err, errGone) || err.Error() != "claim segments: connection refused" ||
		w.planner.heard {
		t.Errorf("claim: %v, heard %v, want claim segments: %v, false", err, w.planner.heard, errGone)
	}
	w.holds(runs[0], 2)
	w.planner.e.begun.Store(newFreeSegments(time.Now(), nil, campaign.FreeSegment{Run: 1}))
	if err := w.claim(t.Context(), time.Now(), 72); !errors.Is(err, errGone) ||
		err.Error() != "claim begun segments: connection refused" || w.planner.heard {
		t.Errorf("claim: %v, heard %v, want claim begun segments: %v, false", err, w.planner.heard, errGone)
	}
	w, _, log := claiming(t, l, 0)
	if err := w.claim(t.Context(), time.Now(), 72); err != nil {
		t.Errorf("without a run: %v, want no question", err)
	}
	if !w.planner.claimer.claimedAt.IsZero() {
		t.Error("without a run the next claim waits, want it at once when there is one")
	}
	for _, l := range []campaign.Lease{{Epoch: 1}, {}, {Epoch: 2}} { // the second has another owner
		w.planner.claimer.handBack(t.Context(), l, nil)
	}
	if n := strings.Count(log.String(),
		"segment not handed back: its lease must run out\" connection=conn_1 err=\"connection refused\"\n"); n != 2 ||
		strings.Count(log.String(), "\n") != 2 {
		t.Errorf("%d lines of what is not handed back, want 2:\n%s", n, log)
	}
}
