package sender

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// resultLedger is a ledger that notes how many results are written, and when; the first writes
// fail, or hang.
type resultLedger struct {
	stubLedger
	fails int
	hangs bool
	began time.Time
	at    []time.Duration
	n     []int
}

func (l *resultLedger) Record(ctx context.Context, rs []campaign.Result) error {
	l.at, l.n = append(l.at, time.Since(l.began)), append(l.n, len(rs))
	if len(l.at) > l.fails {
		return nil
	}
	if l.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return errGone
}

// newRecording is a recorder and a segment that awaits n results.
func newRecording(t *testing.T, l *resultLedger) (*recorder, unwritten) {
	t.Helper()
	e, err := New(l, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	l.began = time.Now()
	return e.rec, unwritten{segment: newSegment(&run{no: 1}, campaign.Lease{}, newSignal())}
}

// Eight results are worth a transaction after 20 ms, fewer wait 80 ms, and a whole batch of 256
// does not wait.
func TestResultsAreWrittenTogether(t *testing.T) {
	const ms = time.Millisecond
	type put struct {
		at time.Duration
		n  int
	}
	for _, tt := range []struct {
		name string
		puts []put
		at   []time.Duration
		n    []int
	}{
		{"one", []put{{0, 1}}, []time.Duration{80 * ms}, []int{1}},
		{"seven", []put{{0, 1}, {5 * ms, 6}}, []time.Duration{80 * ms}, []int{7}},
		{"eight", []put{{0, 1}, {5 * ms, 7}}, []time.Duration{20 * ms}, []int{8}},
		{"eight, the last late", []put{{0, 1}, {50 * ms, 7}}, []time.Duration{50 * ms}, []int{8}},
		{"255", []put{{0, 8}, {5 * ms, 247}}, []time.Duration{20 * ms}, []int{255}},
		{"256", []put{{0, 8}, {5 * ms, 248}}, []time.Duration{5 * ms}, []int{256}},
		{"300", []put{{0, 300}}, []time.Duration{0, 20 * ms}, []int{256, 44}},
		{"one and one more", []put{{0, 1}, {200 * ms, 1}}, []time.Duration{80 * ms, 280 * ms}, []int{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &resultLedger{}
				r, s := newRecording(t, l)
				s.segment.awaited.Store(true)
				var running sync.WaitGroup
				running.Go(r.run)
				synctest.Wait()
				total := 0
				for _, p := range tt.puts {
					time.Sleep(p.at - time.Since(l.began))
					for range p.n {
						s.segment.pending.Add(1)
						r.put(s)
						if tt.name != "300" {
							synctest.Wait()
						}
					}
					total += p.n
				}
				time.Sleep(time.Second)
				r.stop()
				running.Wait()
				if !slices.Equal(l.at, tt.at) || !slices.Equal(l.n, tt.n) {
					t.Errorf("written at %v: %v, want at %v: %v", l.at, l.n, tt.at, tt.n)
				}
				if left := s.segment.pending.Load(); left != 0 || r.waiting.Load() != 0 || len(s.segment.planner) != 1 {
					t.Errorf("%d of %d pending, %d waiting, woken %d times, want 0, 0, 1", left, total, r.waiting.Load(), len(s.segment.planner))
				}
				r.giveUp()
			})
		})
	}
}

// The results in hand when the engine ends are written at once.
func TestResultsInHandAreWrittenAtTheEnd(t *testing.T) {
	for i := range 16 { // the recorder is as likely to see the end first
		synctest.Test(t, func(t *testing.T) {
			l := &resultLedger{}
			r, s := newRecording(t, l)
			var running sync.WaitGroup
			if i == 0 {
				running.Go(r.run)
			}
			s.segment.pending.Add(3)
			for range 3 {
				r.put(s)
				synctest.Wait()
			}
			r.stop()
			if i > 0 {
				running.Go(r.run)
			}
			running.Wait()
			if !slices.Equal(l.n, []int{3}) || time.Since(l.began) > 0 || s.segment.pending.Load() != 0 {
				t.Errorf("%v written after %v, %d pending, want 3 at once, 0", l.n, time.Since(l.began), s.segment.pending.Load())
			}
			r.giveUp()
		})
	}
}

// A write that failed is tried again after 20 ms, twice as long each time, at most 2 s; one that
// hangs is given 10 s.
func TestAWriteIsTriedAgainAtLeastEveryTwoSeconds(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		hangs bool
		waits []time.Duration
	}{
		{false, []time.Duration{20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms, 2000 * ms, 2000 * ms}},
		{true, []time.Duration{10020 * ms, 10040 * ms}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &resultLedger{fails: len(tt.waits), hangs: tt.hangs}
			r, s := newRecording(t, l)
			s.segment.pending.Add(1)
			r.write([]unwritten{s})
			var waits []time.Duration
			for i := range l.at[1:] {
				waits = append(waits, l.at[i+1]-l.at[i])
			}
			if !slices.Equal(waits, tt.waits) || s.segment.pending.Load() != 0 || r.lost != 0 {
				t.Errorf("waits %v, %d pending, %d lost, want %v, 0, 0", waits, s.segment.pending.Load(), r.lost, tt.waits)
			}
			r.giveUp()
		})
	}
}

// A result that was given up is not pending any more, so its segment can be handed back.
func TestResultsThatAreGivenUpFreeTheirSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &resultLedger{fails: 1 << 20}
		r, s := newRecording(t, l)
		s.segment.pending.Add(3)
		r.end(5 * time.Second)
		r.write([]unwritten{s, s})
		if took := time.Since(l.began); took != 5*time.Second || r.lost != 2 || s.segment.pending.Load() != 1 || len(s.segment.planner) != 0 {
			t.Errorf("given up after %v, %d lost, %d pending, woken %d times, want 5s, 2, 1, 0", took, r.lost, s.segment.pending.Load(),
				len(s.segment.planner))
		}
		n := len(l.at)
		r.write([]unwritten{s}) // nothing is written any more
		if len(l.at) != n || r.lost != 3 || s.segment.pending.Load() != 0 || len(s.segment.planner) != 1 {
			t.Errorf("%d more writes, %d lost, %d pending, woken %d times, want 0, 3, 0, 1", len(l.at)-n, r.lost, s.segment.pending.Load(),
				len(s.segment.planner))
		}
	})
}

// The defaults are those that the fields of Options name.
func TestTheZeroOptionsAreTheDefaults(t *testing.T) {
	if _, err := New(nil, nil, nil, Options{}); err == nil || err.Error() != "sender: Options.Owner is required" {
		t.Errorf("without an owner: %v, want sender: Options.Owner is required", err)
	}
	negative := Options{
		Owner: "a", Lease: -1, Group: -1, Flush: -1, Tick: -1, Request: -1, MaxInFlight: -1, Backoff: -1,
	}
	for _, given := range []Options{{Owner: "a"}, negative} {
		o, err := given.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		times := []time.Duration{o.Lease, o.Group, o.Flush, o.Tick, o.Request, o.Backoff, o.Jitter("", 7)}
		want := []time.Duration{15 * time.Second, 50 * time.Millisecond, 20 * time.Millisecond, 250 * time.Millisecond, 10 * time.Second,
			5 * time.Second, 7}
		if !slices.Equal(times, want) {
			t.Errorf("times %v, want %v", times, want)
		}
		if o.MaxInFlight != 512 || o.Pace("x") != 72 || o.Log == nil {
			t.Errorf("%d, %v, log %v, want 512, 72 and a log", o.MaxInFlight, o.Pace("x"), o.Log)
		}
	}
	given := Options{Owner: "a", Lease: 1, Group: 1, Flush: 1, Tick: 1, Request: 1, MaxInFlight: 1, Backoff: 1}
	o, err := given.withDefaults()
	times := []time.Duration{o.Lease, o.Group, o.Flush, o.Tick, o.Request, o.Backoff}
	if err != nil || slices.Max(times) != 1 || o.MaxInFlight != 1 {
		t.Errorf("%v: %v, %d, want each 1 as given", err, times, o.MaxInFlight)
	}
}
