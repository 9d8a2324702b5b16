package throttletest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

func mistakes(t *testing.T, _ suite, l throttle.Limiter) {
	for _, c := range []struct {
		key  string
		rate float64
		n    int
	}{
		{"a", 0, 1}, {"a", -1, 1}, {"a", math.NaN(), 1}, {"a", math.Inf(1), 1}, {"a", throughput.MaxRate * 2, 1},
		{"a", throughput.MinRate / 2, 1}, {"a", 80, 0}, {"a", 80, -3}, {"", 80, 1},
	} {
		if got, err := l.Lease(t.Context(), c.key, c.rate, c.n); !errors.Is(err, throttle.ErrLease) || got.N != 0 {
			t.Errorf("Lease(%q, %v, %d) = %+v, %v; want ErrLease", c.key, c.rate, c.n, got, err)
		}
	}
}

// hostile demands everything at once, after silences, and for random times, always on one key, as
// the traffic of a number is.
func hostile(t *testing.T, s suite, l throttle.Limiter) {
	s.each(func(limit float64, key string) {
		demand := rand.New(rand.NewPCG(uint64(limit), 7))
		var sent []time.Time
		end := time.Now().Add(s.spell)
		for phase := 0; time.Now().Before(end); phase++ {
			on := time.Duration(demand.Int64N(int64(s.spell / 8)))
			sent = append(sent, s.send(t, l, key, limit, on)...)
			if phase%2 == 1 {
				time.Sleep(time.Duration(demand.Int64N(int64(s.spell / 10))))
			}
		}
		if worst := WorstSecond(sent); float64(worst) > math.Max(1, limit) {
			t.Errorf("limit %v: %d messages in one second, want at most the limit", limit, worst)
		}
		if len(sent) == 0 {
			t.Errorf("limit %v: 0 sent, want some", limit)
		}
	})
}

// mean: a saturated sender gets the pace, within 3 %.
func mean(t *testing.T, s suite, l throttle.Limiter) {
	s.each(func(limit float64, key string) {
		d := max(s.spell, time.Duration(20/limit*float64(time.Second)))
		s.calm(t, func(attempt int) error {
			sent := s.send(t, l, fmt.Sprint(key, " ", attempt), limit, d)
			return near(MeanRate(sent), limit*s.factor, 0.03)
		})
	})
}

// start: in its first quarter second a new key sends at most what the pace allows, and one more.
func start(t *testing.T, s suite, l throttle.Limiter) {
	const limit = 80
	sent := s.send(t, l, "new", limit, time.Second)
	if worst := worstIn(sent, 250*time.Millisecond); worst > limit/4+1 {
		t.Errorf("%d messages in a quarter second at the start, want at most %d", worst, limit/4+1)
	}
}

func idle(t *testing.T, s suite, l throttle.Limiter) {
	const limit = 80
	sent := s.send(t, l, "number", limit, 500*time.Millisecond)
	time.Sleep(s.spell / 2)
	sent = append(sent, s.send(t, l, "number", limit, time.Second)...)
	if worst := worstIn(sent, 250*time.Millisecond); worst > limit/4+1 {
		t.Errorf("%d messages in a quarter second after a silence, want at most %d", worst, limit/4+1)
	}
}

// missed: a sender that leases slots and sleeps through them then gets the pace, not the pace and
// the slots it missed.
func missed(t *testing.T, s suite, l throttle.Limiter) {
	const limit = 80
	for range 3 {
		if _, err := l.Lease(t.Context(), "number", limit*s.factor, 100); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * throttle.Horizon)
	}
	sent := s.send(t, l, "number", limit, time.Second)
	if worst := worstIn(sent, 250*time.Millisecond); worst > limit/4+1 {
		t.Errorf("%d messages in a quarter second after missed slots, want at most %d", worst, limit/4+1)
	}
}

func horizon(t *testing.T, s suite, l throttle.Limiter) {
	s.calm(t, func(attempt int) error { return s.horizonOf(t, l, attempt) })
}

// horizonOf returns an error if a free horizon has few slots: a late reply forfeits the first of
// them.
func (s suite) horizonOf(t *testing.T, l throttle.Limiter, attempt int) (few error) {
	for _, rate := range []float64{1, 80, 1000, 1e6} {
		key := fmt.Sprint("number ", rate, attempt)
		s.lease(t, l, key, rate, 1)
		time.Sleep(2*throttle.Horizon + time.Duration(float64(time.Second)/rate)) // idle: the horizon is free
		asked := time.Now()
		got := s.lease(t, l, key, rate, 1<<20)
		now := time.Now()
		if got.At(0).Before(asked.Add(-s.tick)) { // the limiter read its clock after this test did
			t.Errorf("rate %v: the first slot was %v ago when it was asked for, want at most %v", rate, asked.Sub(got.At(0)), s.tick)
		}
		if last := got.At(got.N - 1); last.After(now.Add(throttle.Horizon)) {
			t.Errorf("rate %v: the last of %d slots is %v ahead, want at most %v", rate, got.N, last.Sub(now), throttle.Horizon)
		}
		if want := throttle.Horizon.Seconds() * rate * 0.8; float64(got.N) < want {
			few = errors.Join(few, fmt.Errorf("rate %v: %d slots in a free horizon, want %.0f or more", rate, got.N, want))
		}
		again, err := l.Lease(t.Context(), key, rate, 1)
		if err != nil {
			t.Fatal(err)
		}
		if again.N == 0 && (again.Wait <= 0 || again.Wait.Seconds() > 1/rate+0.1) {
			t.Errorf("rate %v: a full horizon says to wait %v, want more than 0 and at most an interval and 100ms", rate, again.Wait)
		}
	}
	return few
}

func concurrent(t *testing.T, s suite, l throttle.Limiter) {
	const limit, senders = 1000, 8
	s.calm(t, func(attempt int) error {
		var all []time.Time
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range senders {
			wg.Go(func() {
				sent := s.send(t, l, fmt.Sprint("number ", attempt), limit, s.spell/2)
				mu.Lock()
				all = append(all, sent...)
				mu.Unlock()
			})
		}
		wg.Wait()
		if worst := WorstSecond(all); worst > limit {
			t.Errorf("%d messages in one second, want at most %d", worst, limit)
		}
		for i := 1; i < len(all); i++ {
			if !all[i].After(all[i-1]) {
				t.Fatalf("slots at %v and %v, want the second later: two leases share an instant", all[i-1], all[i])
			}
		}
		return near(MeanRate(all), limit*s.factor, 0.03)
	})
}

func rateChange(t *testing.T, s suite, l throttle.Limiter) {
	s.calm(t, func(attempt int) error {
		key := fmt.Sprint("number ", attempt)
		var all []time.Time
		var late error
		for _, limit := range []float64{80, 20, 1000, 80} {
			before := time.Now()
			sent := s.send(t, l, key, limit, 1500*time.Millisecond)
			if len(sent) == 0 {
				t.Fatalf("rate %v: 0 sent, want some", limit)
			}
			if worst := WorstSecond(sent); float64(worst) > limit {
				t.Errorf("rate %v: %d messages in one second, want at most the rate", limit, worst)
			}
			if len(all) > 0 && !sent[0].After(all[len(all)-1]) {
				t.Errorf("rate %v: slots begin %v before those of the rate before end, want them after", limit, all[len(all)-1].Sub(sent[0]))
			}
			all = append(all, sent...)
			if gap := sent[0].Sub(before); gap > 500*time.Millisecond+throttle.Horizon {
				late = errors.Join(late, fmt.Errorf("rate %v began after %v, want at most %v", limit, gap, 500*time.Millisecond+throttle.Horizon))
			}
			late = errors.Join(late, near(MeanRate(sent), limit*s.factor, 0.05))
		}
		return late
	})
}

func independent(t *testing.T, s suite, l throttle.Limiter) {
	s.calm(t, func(attempt int) error { // on a busy machine a late reply forfeits the first slots
		busy := s.lease(t, l, fmt.Sprint("busy ", attempt), 80, 1000)
		other := s.lease(t, l, fmt.Sprint("other ", attempt), 80, 1000)
		if other.N < busy.N-1 {
			return fmt.Errorf("a busy key left another %d slots, want %d", other.N, busy.N)
		}
		return nil
	})
}

func ended(t *testing.T, _ suite, l throttle.Limiter) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := l.Lease(ctx, "number", 80, 1); err == nil || got.N != 0 {
		t.Errorf("Lease = %+v, %v; want the context's error", got, err)
	}
}
