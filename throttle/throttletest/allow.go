package throttletest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// permitRate is a demand by several senders that always want more. Each asks for some permissions
// and uses them at once or as late as it may. No stretch of time has more uses than the rate and
// the Tolerance allow, and the mean is the rate.
func permitRate(t *testing.T, s suite, l throttle.Limiter) {
	s.each(func(limit float64, key string) {
		var all []time.Time
		var mu sync.Mutex
		var wg sync.WaitGroup
		began := time.Now()
		end := began.Add(max(s.spell, time.Duration(10/limit*float64(time.Second))))
		for sender := range 4 {
			wg.Go(func() {
				demand := rand.New(rand.NewPCG(uint64(limit), uint64(sender))) //nolint:gosec // small
				for time.Now().Before(end) {
					asked := time.Now()
					n, wait := s.allow(t, l, key, limit, 1+demand.IntN(1+int(limit/4)))
					use := asked.Add(time.Duration(demand.Int64N(int64(throttle.AllowFor))))
					if now := time.Now(); use.Before(now) {
						use = now // nobody uses a permission before the answer comes
					}
					mu.Lock()
					for range n {
						if use.Sub(asked) <= throttle.AllowFor { // else the answer came too late
							all = append(all, use)
						}
					}
					mu.Unlock()
					time.Sleep(max(wait, time.Duration(demand.Int64N(int64(50*time.Millisecond)))))
				}
			})
		}
		wg.Wait()
		slices.SortFunc(all, time.Time.Compare)
		for from := range all {
			for to := from; to < len(all); to += 1 + (len(all)-from)/50 {
				most := limit*(all[to].Sub(all[from])+throttle.Tolerance).Seconds() + 1
				if got := float64(to - from + 1); got > most {
					t.Errorf("limit %v: got %v uses in %v, want at most %.1f", limit, got, all[to].Sub(all[from]), most)
					return
				}
			}
		}
		took := time.Since(began).Seconds()
		if got, want := float64(len(all)), 0.95*limit*took-2; s.tick == 0 && got < want {
			t.Errorf("limit %v: got %v uses in %.1f s, want at least %.1f", limit, got, took, want)
		}
	})
}

// permitStart: a new key has one permission, and the next after an interval.
func permitStart(t *testing.T, s suite, l throttle.Limiter) {
	n, wait := s.allow(t, l, "new", 10, 8)
	if n != 1 || wait <= 0 || wait > 100*time.Millisecond {
		t.Errorf("a new key: got %d permissions and a wait of %v, want 1 and 100ms at most", n, wait)
	}
	if n, wait := s.allow(t, l, "new and slow", 0.2, 8); n != 1 || wait < 4*time.Second || wait > 5*time.Second {
		t.Errorf("a new key of 0.2/s: got %d permissions and a wait of %v, want 1 and 5s at most", n, wait)
	}
}

// permitIdle: after a silence there is a burst, of one use and the Tolerance less what AllowFor
// takes of it.
func permitIdle(t *testing.T, s suite, l throttle.Limiter) {
	s.allow(t, l, "idle", 20, 1)
	time.Sleep(2 * throttle.Tolerance)
	want := 1 + int(20*(throttle.Tolerance-throttle.AllowFor).Seconds())
	if n, _ := s.allow(t, l, "idle", 20, 1000); n != want {
		t.Errorf("after two seconds: got %d permissions, want %d", n, want)
	}
}

func permitWait(t *testing.T, s suite, l throttle.Limiter) {
	_, wait := s.allow(t, l, "number", 20, 100)
	if wait <= 0 || wait > 50*time.Millisecond {
		t.Errorf("refused: got a wait of %v, want up to 50ms", wait)
	}
	time.Sleep(wait)
	if n, wait := s.allow(t, l, "number", 20, 1); n != 1 || wait != 0 {
		t.Errorf("after the wait: got %d permissions and a wait of %v, want 1 and 0", n, wait)
	}
}

// permitRaised: a raised rate counts from the next question on. It permits at most one use at once,
// and what the lower rate permitted is not waited out.
func permitRaised(t *testing.T, s suite, l throttle.Limiter) {
	for _, c := range []struct{ from, to float64 }{{1, 2}, {0.01, 100}} {
		var n int
		var wait time.Duration
		err := throttle.ErrUnavailable
		for i := 0; i < 3 && err != nil; i++ { // a busy machine may delay an answer
			key := fmt.Sprintf("from %v to %v, %d", c.from, c.to, i)
			s.allow(t, l, key, c.from, 1)
			n, wait, err = l.Allow(t.Context(), key, c.to, 8)
		}
		if every := time.Duration(float64(time.Second) / c.to); err != nil || n < 0 || n > 1 || wait <= 0 || wait > every {
			t.Errorf("from %v/s to %v/s: got %d permissions, a wait of %v and %v, want at most 1, %v at most and no error",
				c.from, c.to, n, wait, err, every)
		}
	}
}

func permitKeys(t *testing.T, s suite, l throttle.Limiter) {
	s.allow(t, l, "busy", 5, 100)
	s.lease(t, l, "other", 80, 10)
	if n, _ := s.allow(t, l, "other", 5, 1); n != 1 {
		t.Errorf("beside a busy key and a lease: got %d permissions, want 1", n)
	}
}

func permitMistakes(t *testing.T, _ suite, l throttle.Limiter) {
	for _, c := range []struct {
		key  string
		rate float64
		n    int
	}{{"a", 0, 1}, {"a", math.NaN(), 1}, {"a", throughput.MaxRate * 2, 1}, {"a", 80, 0}, {"", 80, 1}} {
		if n, wait, err := l.Allow(t.Context(), c.key, c.rate, c.n); !errors.Is(err, throttle.ErrLease) || n != 0 || wait != 0 {
			t.Errorf("Allow(%q, %v, %d) = %d, %v, %v; want ErrLease", c.key, c.rate, c.n, n, wait, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, _, err := l.Allow(ctx, "number", 80, 1); err == nil || n != 0 {
		t.Errorf("Allow = %d, %v; want the context's error", n, err)
	}
}

// allow asks until the limiter answers.
func (s suite) allow(t *testing.T, l throttle.Limiter, key string, rate float64, n int) (int, time.Duration) {
	t.Helper()
	for range 100 {
		granted, wait, err := l.Allow(t.Context(), key, rate, n)
		if err == nil {
			return granted, wait
		}
		if !errors.Is(err, throttle.ErrUnavailable) {
			t.Errorf("allow: got %v, want nil or ErrUnavailable", err)
			return 0, 0
		}
		time.Sleep(retry)
	}
	t.Errorf("%s: got no answer to 100 questions, want one", key)
	return 0, 0
}
