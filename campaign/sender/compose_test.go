package sender

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// retryLedger is a ledger with one deferred delivery in the first segment. Each of its calls may
// fail once.
type retryLedger struct {
	stubLedger
	fails   map[string]error // by call; Due 2 is that of the second segment
	granted int              // retries
}

func (l *retryLedger) fault(call string) error {
	err := l.fails[call]
	delete(l.fails, call)
	return err
}

func (l *retryLedger) Due(_ context.Context, lease campaign.Lease, now time.Time, n int) ([]campaign.Retry, error) {
	if lease.Index == 1 {
		return nil, l.fault("Due 2")
	}
	if err := l.fault("Due"); err != nil || l.granted > 0 {
		return nil, err
	}
	return []campaign.Retry{{Delivery: campaign.Delivery{Run: 1, Seq: 3}, Attempt: 2}}, nil
}

func (l *retryLedger) Deliveries(context.Context, campaign.RunNo, int64, int64) ([]campaign.Delivery, error) {
	return nil, l.fault("Deliveries")
}

func (l *retryLedger) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	if err := l.fault("Intend"); err != nil {
		return nil, err
	}
	held := l.fault("held") != nil
	for _, i := range in {
		if !held {
			l.granted += len(i.Retries)
		}
		granted = append(granted, campaign.Granted{To: i.To, Denied: held})
	}
	return granted, nil
}

// composing is a worker with a segment of each of two runs; of the first a delivery is due.
func composing(t *testing.T, l *retryLedger) (*worker, []*segment) {
	t.Helper()
	e, err := New(l, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(e, "conn_1")
	var runs []*run
	for i := range int64(2) {
		r := &run{no: campaign.RunNo(i + 1), id: "run-" + string(rune('1'+i)), connections: []string{"conn_1"}}
		s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Run: r.no, Index: i, Hi: 10}, Mark: 5, Until: time.Now().Add(time.Hour)}, nil)
		s.checked = time.Now()
		runs, w.planner.claimer.segments = append(runs, r), append(w.planner.claimer.segments, s)
	}
	w.planner.setRuns(runs)
	w.planner.turn = 1 // the first run's turn is next
	w.planner.claimer.segments[0].due(time.Now())
	return w, w.planner.claimer.segments
}

// A fault of the ledger is over in a moment; the next search for what is deferred would be 15 s
// later.
func TestARetryIsDueStillWhenItsIntentFails(t *testing.T) {
	away := errors.New("connection refused")
	for _, call := range []string{"none", "Due", "Deliveries", "Due 2", "Intend", "held"} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &retryLedger{fails: map[string]error{call: away}}
				w, segments := composing(t, l)
				segments[1].due(time.Now()) // it is searched too
				_, err := w.planner.intend(t.Context(), time.Now(), 8, 8, true)
				if wanted := call != "none" && call != "held"; (err != nil) != wanted || (l.granted == 0) == (call == "none") {
					t.Fatalf("at first: %v, %d granted", err, l.granted)
				}
				time.Sleep(w.planner.e.o.Tick)
				for _, s := range segments {
					s.run.paused.Store(false) // the run is resumed
				}
				if _, err := w.planner.intend(t.Context(), time.Now(), 8, 8, true); err != nil || l.granted != 1 {
					t.Errorf("at the next step: %v, %d retries granted, want one", err, l.granted)
				}
			})
		})
	}
}

// The commit whose answer is lost may have granted the retry: it is left to the next owner.
func TestARetryWhoseCommitIsUnknownIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &retryLedger{fails: map[string]error{"Intend": campaign.ErrUnknownCommit}}
		w, _ := composing(t, l)
		if _, err := w.planner.intend(t.Context(), time.Now(), 8, 8, true); !errors.Is(err, campaign.ErrUnknownCommit) {
			t.Fatal(err)
		}
		if asked, err := w.planner.intend(t.Context(), time.Now(), 8, 8, true); asked || err != nil || l.granted != 0 {
			t.Errorf("asked again: %v %v, %d granted, want false, nil, 0", asked, err, l.granted)
		}
	})
}

// Runs of a number share a group; one that has nothing to send leaves its share to the others.
func TestRunsOfANumberShareItsGroups(t *testing.T) {
	for _, tt := range []struct {
		name  string
		group int
		set   func(first, second *segment)
		want  []string // of successive groups: run:deliveries
	}{
		{"two", 8, nil, []string{"2:4 1:4", "1:4 2:4"}},
		{"an odd group", 3, nil, []string{"2:2 1:1", "1:2 2:1"}},
		{"one delivery", 1, nil, []string{"2:1", "1:1"}},
		{"one is held", 8, func(first, _ *segment) { first.run.paused.Store(true) }, []string{"2:8", "2:8"}},
		{"one is skipped", 8, func(_, second *segment) { second.run.skipRest(campaign.OverLimit) }, []string{"1:8", "1:8"}},
		{"one ends", 8, func(_, second *segment) { second.lease.Hi = second.lease.Mark + 1 }, []string{"2:1 1:7", "1:7 2:1"}},
		{"a lease runs out", 8, func(first, _ *segment) { first.until.Store(time.Now().Add(3 * time.Second).UnixNano()) },
			[]string{"2:8", "2:8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, first := planning(t, &groupLedger{}, Options{})
				second := newSegment(&run{no: 2, connections: []string{"conn_1"}}, first.lease, nil)
				second.checked = first.checked
				w.planner.claimer.segments = append(w.planner.claimer.segments, second)
				w.planner.setRuns([]*run{first.run, second.run})
				if tt.set != nil {
					tt.set(first, second)
				}
				for _, want := range tt.want {
					drafts, err := w.planner.compose(t.Context(), time.Now(), tt.group, 8)
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
		name string
		set  func(*segment)
		work bool
	}{
		{"deliveries are left", func(*segment) {}, true},
		{"nothing is left", func(s *segment) { s.lease.Mark = s.lease.Hi }, false},
		{"a retry comes later", func(s *segment) { s.lease.Mark = s.lease.Hi; s.due(time.Now().Add(time.Hour)) }, true},
		{"the lease is lost", func(s *segment) { s.lost.Store(true) }, false},
	} {
		w, s := planning(t, &groupLedger{}, Options{})
		tt.set(s)
		if work := w.planner.working()[s.run]; work != tt.work {
			t.Errorf("%s: work %v, want %v", tt.name, work, tt.work)
		}
		if w.planner.working()[&run{}] {
			t.Errorf("%s: it is work for another run, want not", tt.name)
		}
	}
}
