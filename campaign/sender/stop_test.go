package sender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// awayLedger is a ledger of one run of n deliveries that takes no result and no segment back, until
// it is back.
type awayLedger struct {
	stubLedger
	n       int64
	hangs   bool // Record and SetState do not fail at once: they wait until their caller gives up
	claimed atomic.Bool
	back    chan struct{} // closed when it is
}

var errGone = errors.New("connection refused")

func (l *awayLedger) fault(ctx context.Context) error {
	if !l.hangs {
		select {
		case <-l.back:
			return nil
		default:
			return errGone
		}
	}
	select {
	case <-l.back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *awayLedger) Record(ctx context.Context, _ []campaign.Result) error { return l.fault(ctx) }

func (l *awayLedger) SetState(ctx context.Context, _ campaign.RunNo, _ []campaign.State, _ campaign.State, _ campaign.PauseReason,
	_ string) (bool, error) {
	return false, l.fault(ctx)
}

func (l *awayLedger) Release(context.Context, campaign.Lease, []int64) error { return errGone }

func (l *awayLedger) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	return []campaign.Run{{
		No: 1, Campaign: "sale", State: campaign.Running, Wanted: campaign.WantRun, Header: []string{"to"}, CreatedAt: time.Now(),
		Definition: []byte(strings.Replace(sale, "conn_1, conn_2", "conn_1", 1)),
	}}, nil
}

func (l *awayLedger) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	if l.claimed.Swap(true) {
		return nil, nil
	}
	return []campaign.Lease{{Segment: campaign.Segment{Run: 1, Hi: l.n}, Epoch: 1, Until: time.Now().Add(c.Lease)}}, nil
}

func (l *awayLedger) Deliveries(_ context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, _ error) {
	for seq := from; seq < to; seq++ {
		dest := fmt.Sprintf("+23480%08d", seq)
		all = append(all, campaign.Delivery{Run: no, Seq: seq, Row: seq + 1, To: dest, Cells: []string{dest}})
	}
	return all, nil
}

func (l *awayLedger) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	for _, i := range in {
		granted = append(granted, campaign.Granted{To: i.To})
	}
	return granted, nil
}

func (l *awayLedger) Renew(_ context.Context, leases []campaign.Lease, d time.Duration) ([]campaign.Lease, error) {
	for i := range leases {
		leases[i].Until = time.Now().Add(d)
	}
	return leases, nil
}

func (l *awayLedger) Due(context.Context, campaign.Lease, time.Time, int) ([]campaign.Retry, error) {
	return nil, nil
}
func (l *awayLedger) FinishRuns(context.Context) ([]campaign.Run, error)               { return nil, nil }
func (l *awayLedger) ReportLanes(context.Context, string, []campaign.LaneReport) error { return nil }

// answer is a service that says the same to everybody, after a while.
type answer struct {
	err  error
	took time.Duration
}

func (a answer) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	time.Sleep(a.took)
	return messaging.Receipt{MessageID: "wamid." + m.To}, a.err
}

// A process that is asked to stop ends within 30 s, whatever its ledger does: it gives up results
// that cannot be written.
func TestAnEngineEndsAlthoughItsLedgerIsAway(t *testing.T) {
	refused := &messaging.Error{Proof: messaging.NotSent, Code: "account", Status: 403, Hold: messaging.HoldAccount}
	for _, tt := range []struct {
		name   string
		n      int64
		hangs  bool
		answer answer
		after  time.Duration // it is stopped
	}{
		{"more results wait than the recorder holds", campaign.SegmentSize, false, answer{}, 3 * time.Second},
		{"more results wait and each write hangs", campaign.SegmentSize, true, answer{}, 3 * time.Second},
		{"a few results wait and the write hangs", 5, true, answer{}, 3 * time.Second},
		{"the last post takes all its time", 5, false, answer{took: 9900 * time.Millisecond}, 50 * time.Millisecond},
		{"a refusal cannot be told", 1, true, answer{err: refused}, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l := &awayLedger{n: tt.n, hangs: tt.hangs, back: make(chan struct{})}
				e, err := New(l, tt.answer, throttle.NewLocal(), Options{
					Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil)), Pace: func(string) float64 { return 2000 },
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				time.Sleep(tt.after)
				synctest.Wait()
				posted := e.Stats()[0].Posted
				if tt.n == campaign.SegmentSize && (posted <= 2048+fewUnanswered || len(e.rec.in) < 2048) ||
					tt.n < campaign.SegmentSize && posted != tt.n {
					t.Errorf("%d posted and %d results wait: not what is to be tried", posted, len(e.rec.in))
				}
				stop()
				began := time.Now()
				select {
				case err = <-ended:
				case <-time.After(2 * time.Minute):
					t.Error("it has not ended after two minutes")
					close(l.back)
					<-ended
					return
				}
				if took := time.Since(began); err != nil || took < stopBudget || took > stopBudget+time.Second {
					t.Errorf("it ended after %v with %v, want after %v and at most a second", took, err, stopBudget)
				}
				said := fmt.Sprintf("results were not written: they are in doubt until a webhook proves them\" results=%d\n", posted)
				if strings.Count(log.String(), said) != 1 || strings.Count(log.String(), "were not written") != 1 {
					t.Errorf("want once %q in\n%s", said, log.String())
				}
			})
		})
	}
}

// slowLedger is an awayLedger whose commits take long and succeed.
type slowLedger struct {
	awayLedger
	commit time.Duration

	mu      sync.Mutex
	written map[int64]int
	largest int
}

func (l *slowLedger) Record(ctx context.Context, rs []campaign.Result) error {
	select {
	case <-time.After(l.commit):
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rs {
		l.written[r.Seq]++
	}
	l.largest = max(l.largest, len(rs))
	return nil
}

func (l *slowLedger) Release(context.Context, campaign.Lease, []int64) error { return nil }

// A ledger that takes 2 s for each commit gets every result of a process that is asked to stop.
func TestAStopOverASlowLedgerKeepsEveryResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowLedger{commit: 2 * time.Second, written: map[int64]int{}}
		l.n = campaign.SegmentSize
		var log bytes.Buffer
		e, err := New(l, answer{took: 100 * time.Millisecond}, throttle.NewLocal(), Options{
			Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil)), Pace: func(string) float64 { return 2000 },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(5 * time.Second)
		stop()
		began := time.Now()
		err = <-ended
		posted := e.Stats()[0].Posted
		if took := time.Since(began); err != nil || took > stopBudget {
			t.Errorf("it ended after %v with %v, want within %v", took, err, stopBudget)
		}
		if posted < 2048 || int64(len(l.written)) != posted || l.largest <= 256 {
			t.Errorf("%d posted, %d written, at most %d at once, want all of 2,048 or more, and more than 256 at once:\n%s", posted, len(l.written),
				l.largest, log.String())
		}
	})
}

// A stop also records the attempts that were not posted under a lost lease. Without that fact the
// next owner would have doubts that no webhook ends.
func TestAStopRecordsWhatALostSegmentDidNotPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowLedger{written: map[int64]int{}}
		e, err := New(l, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		s := newSegment(&run{no: 1}, campaign.Lease{}, w.planner.poke)
		s.lost.Store(true)
		w.planner.claimer.segments = []*segment{s}
		w.queue.push([]*attempt{{segment: s, delivery: campaign.Delivery{Seq: 7}}, {segment: s, delivery: campaign.Delivery{Seq: 8}}})
		s.pending.Add(2)
		go e.rec.run()
		w.planner.release(t.Context())
		e.rec.stop()
		if l.written[7] != 1 || l.written[8] != 1 || s.pending.Load() != 0 {
			t.Errorf("recorded %v, and %d results awaited, want 7 and 8 once each, and none", l.written, s.pending.Load())
		}
	})
}
