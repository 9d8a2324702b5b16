package sender

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// outageLedger is a ledger that cannot be reached until it is 10 s old.
type outageLedger struct {
	stubLedger
	began time.Time
	well  time.Duration // before that it can be reached
	full  bool          // its disk is full then, in place of that

	mu    sync.Mutex
	lanes []campaign.LaneReport // what was told of them last
}

func (l *outageLedger) fault() error {
	if age := time.Since(l.began); age >= l.well && age < 10*time.Second {
		if l.full {
			return campaign.ErrUnwritable
		}
		return errors.New("connection refused")
	}
	return nil
}

func (l *outageLedger) Claim(context.Context, campaign.Claim) ([]campaign.Lease, error) {
	return nil, l.fault()
}

func (l *outageLedger) Record(context.Context, []campaign.Result) error { return l.fault() }

func (l *outageLedger) Renew(_ context.Context, leases []campaign.Lease, _ time.Duration) ([]campaign.Lease, error) {
	return leases, l.fault()
}

func (l *outageLedger) ReportLanes(_ context.Context, _ string, lanes []campaign.LaneReport) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes = lanes
	return nil
}

func (l *outageLedger) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	return nil, nil
}
func (l *outageLedger) FinishRuns(context.Context) ([]campaign.Run, error) { return nil, nil }

// Each part that meets an outage says two lines: that it is there, and that it is over.
func TestAnOutageOfTheLedgerIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &outageLedger{began: time.Now()}
		e, err := New(l, nil, nil, Options{Owner: "a", Lease: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		s := newSegment(&run{no: 1}, campaign.Lease{}, nil)
		s.pending.Add(1)
		w.planner.claimer.segments = []*segment{s}
		w.renewer.keep(w.planner.claimer.segments)
		ctx, stop := context.WithCancel(t.Context())
		var renewing sync.WaitGroup
		renewing.Go(func() { w.renewer.run(ctx) })
		newRecorder(l, e.o).write([]unwritten{{segment: s}})
		if took := time.Since(l.began); took < 10*time.Second || took > 13*time.Second || s.pending.Load() != 0 {
			t.Errorf("written after %v, %d pending, want 10s to 13s, 0", took, s.pending.Load())
		}
		time.Sleep(5 * time.Second)
		stop()
		renewing.Wait()
		for _, said := range []string{"results cannot be written", "results are written again", "leases cannot be renewed",
			"leases are renewed again"} {
			if n := strings.Count(log.String(), said); n != 1 {
				t.Errorf("%d times %q, want once, in\n%s", n, said, log.String())
			}
		}
	})
}

// A ledger that takes no writes says so itself: each part tries again without a line of its own.
func TestAFullLedgerIsNotSaidByEachPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &outageLedger{began: time.Now(), full: true}
		e, err := New(l, nil, nil, Options{Owner: "a", Lease: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		r := &run{no: 1, connections: []string{"conn_1"}}
		w.planner.setRuns([]*run{r})
		s := newSegment(r, campaign.Lease{}, nil)
		s.pending.Add(1)
		w.renewer.keep([]*segment{s})
		ctx, stop := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		parts.Go(func() { w.renewer.run(ctx) })
		parts.Go(func() { w.planner.run(ctx) })
		newRecorder(l, e.o).write([]unwritten{{segment: s}})
		e.holds.said(ctx, l.fault())
		e.holds.said(ctx, campaign.ErrUnwritable)
		time.Sleep(5 * time.Second)
		stop()
		parts.Wait()
		if log.Len() > 0 || s.pending.Load() != 0 {
			t.Errorf("got %d results not written and these lines, want none:\n%s", s.pending.Load(), &log)
		}
	})
}

// A planner that has enough to do asks the ledger only now and then: a step without a question does
// not mean that it answers.
func TestSendingIsTakenUpAgainOnceTheLedgerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &outageLedger{began: time.Now(), well: 2 * time.Second}
		e, err := New(l, nil, nil, Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		r := &run{no: 1, connections: []string{"conn_1"}}
		w.planner.setRuns([]*run{r})
		for i := range 3 { // more than it claims at this rate
			s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Index: int64(i), Hi: 100}}, nil)
			s.pending.Add(1)
			w.planner.claimer.segments = append(w.planner.claimer.segments, s)
		}
		w.queue.push(blank(2 * w.planner.group(w.number.pace())))
		ctx, stop := context.WithCancel(t.Context())
		var planning sync.WaitGroup
		planning.Go(func() { w.planner.run(ctx) })
		// A step claims what the engine found to be begun, and asks nothing where there is none.
		steps := func(readAt time.Time, free ...campaign.FreeSegment) {
			e.begun.Store(newFreeSegments(readAt, nil, free...))
			w.planner.poke.send()
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(3300 * time.Millisecond) // the step of the third second has claimed nothing
		steps(time.Now(), campaign.FreeSegment{Run: 1, Begun: true})
		for time.Since(l.began) < 9500*time.Millisecond {
			if lane := w.stats().Lanes[0]; lane.LimitedBy != campaign.ByLedger {
				t.Errorf("while it is away the lane is limited by %s, want ledger", lane.LimitedBy)
			}
			steps(l.began)
		}
		time.Sleep(time.Second)
		if lane := w.stats().Lanes[0]; lane.LimitedBy != campaign.ByLedger {
			t.Errorf("before it has answered the lane is limited by %s, want ledger", lane.LimitedBy)
		}
		steps(time.Now()) // the engine got an answer
		time.Sleep(5 * time.Second)
		stop()
		planning.Wait()
		for _, said := range []string{"the ledger does not answer: sending waits", "sending resumes"} {
			if n := strings.Count(log.String(), said); n != 1 {
				t.Errorf("%d times %q, want once, in\n%s", n, said, log.String())
			}
		}
		if lane := w.stats().Lanes[0]; lane.LimitedBy == campaign.ByLedger {
			t.Error("when it is back the lane is limited by it still")
		}
	})
}

func TestAnEngineThatEndsSaysThatItServesItsLanesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &outageLedger{}
		e, err := New(l, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		w.planner.setRuns([]*run{{no: 1, connections: []string{"conn_1"}}})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		e.mu.Lock()
		e.workers["conn_1"] = w
		e.mu.Unlock()
		stop()
		running.Wait()
		if len(l.lanes) != 1 || l.lanes[0].LimitedBy != campaign.ByStopped || l.lanes[0].Rate != 0 || l.lanes[0].Run != 1 {
			t.Errorf("lanes %+v, want one that is stopped", l.lanes)
		}
	})
}
