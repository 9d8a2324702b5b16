// Package throttletest is the suite that every throttle.Limiter passes, and the counting
// that tests of rates share: the worst sliding second, the mean, the longest silence.
//
// Tests of throttle call it, and so may tests of what paces with a Limiter. Run takes
// real time, RunVirtual the fake time of testing/synctest, where a minute of sending costs
// milliseconds and the limit must hold to the nanosecond.
package throttletest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
)

// Run holds the limiter to the contract in real time, about 7 seconds. The pace is 0.98 of the
// limit it is held to: two clocks (the limiter's and ours) agree to a fraction of an
// interval, not to the nanosecond. Each case gets a limiter that has never seen its keys; the cases
// run side by side.
func Run(t *testing.T, newLimiter func(t *testing.T) throttle.Limiter) {
	s := suite{
		factor: 0.98,
		tick:   throttle.Lateness,
		spell:  2500 * time.Millisecond,
		rates:  []float64{20, 80, 1000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they mostly sleep
			c.run(t, s, newLimiter(t))
		})
	}
}

// RunVirtual holds the limiter to the contract in the fake time of a synctest bubble, with
// the limit itself as the pace. The limiter must read no clock but time.Now.
func RunVirtual(t *testing.T, newLimiter func(t *testing.T) throttle.Limiter) {
	s := suite{
		factor: 1,
		spell:  30 * time.Second,
		rates:  []float64{0.3, 3, 7, 20, 80, 1000, 33333},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, s, newLimiter(t)) })
		})
	}
}

// suite is what differs between real and virtual time.
type suite struct {
	factor float64       // pace / limit
	tick   time.Duration // how exact an instant is
	spell  time.Duration // how long a demand lasts
	rates  []float64
}

var cases = []struct {
	name string
	run  func(*testing.T, suite, throttle.Limiter)
}{
	{"MistakesAreRefused", mistakes},
	{"NoSecondAboveTheLimitUnderHostileDemand", hostile},
	{"MeanIsThePace", mean},
	{"NoBurstAtTheStart", start},
	{"IdleTimeEarnsNothing", idle},
	{"MissedSlotsAreNotCaughtUp", missed},
	{"InstantsStayInsideTheHorizon", horizon},
	{"ConcurrentLeasesShareNoInstant", concurrent},
	{"ARateChangeTakesEffectWithoutABurst", rateChange},
	{"KeysAreIndependent", independent},
	{"AnEndedContextGetsNothing", ended},
}

func mistakes(t *testing.T, _ suite, l throttle.Limiter) {
	for _, c := range []struct {
		key  string
		rate float64
		n    int
	}{
		{"a", 0, 1}, {"a", -1, 1}, {"a", math.NaN(), 1}, {"a", math.Inf(1), 1}, {"a", throttle.MaxRate * 2, 1},
		{"a", throttle.MinRate / 2, 1}, {"a", 80, 0}, {"a", 80, -3}, {"", 80, 1},
	} {
		if got, err := l.Lease(t.Context(), c.key, c.rate, c.n); !errors.Is(err, throttle.ErrLease) || got.N != 0 {
			t.Errorf("Lease(%q, %v, %d) = %+v, %v; want ErrLease", c.key, c.rate, c.n, got, err)
		}
	}
}

// each runs f for each rate, side by side: every rate has a key of its own, and they mostly sleep.
func (s suite) each(f func(limit float64, key string)) {
	var wg sync.WaitGroup
	for _, limit := range s.rates {
		wg.Go(func() { f(limit, fmt.Sprint("number ", limit)) })
	}
	wg.Wait()
}

// hostile demands: everything at once, spells of silence before each rush, and on and off
// at random. The same key all the time, as a number's traffic is.
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

func mean(t *testing.T, s suite, l throttle.Limiter) {
	s.each(func(limit float64, key string) {
		d := max(s.spell, time.Duration(20/limit*float64(time.Second)))
		s.calm(t, func(attempt int) error {
			sent := s.send(t, l, fmt.Sprint(key, " ", attempt), limit, d)
			return near(MeanRate(sent), limit*s.factor, 0.03)
		})
	})
}

// start: in the first quarter second a new key sends what the pace allows and one more.
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

// missed: a sender that takes leases and sleeps through them gets the pace afterwards, not
// the pace and the arrears.
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
	for _, rate := range []float64{1, 80, 1000, 1e6} {
		key := fmt.Sprint("number ", rate)
		s.lease(t, l, key, rate, 1)
		time.Sleep(2*throttle.Horizon + time.Duration(float64(time.Second)/rate)) // idle: the horizon is free
		asked := time.Now()
		got := s.lease(t, l, key, rate, 1<<20)
		now := time.Now()
		if got.At(0).Before(asked.Add(-s.tick)) { // the limiter judged later than it was asked
			t.Errorf("rate %v: the first slot was %v ago when it was asked for, want at most %v", rate, asked.Sub(got.At(0)), s.tick)
		}
		if last := got.At(got.N - 1); last.After(now.Add(throttle.Horizon)) {
			t.Errorf("rate %v: the last of %d slots is %v ahead, want at most %v", rate, got.N, last.Sub(now), throttle.Horizon)
		}
		if want := throttle.Horizon.Seconds() * rate * 0.8; float64(got.N) < want {
			t.Errorf("rate %v: %d slots in a free horizon, want %.0f or more", rate, got.N, want)
		}
		again, err := l.Lease(t.Context(), key, rate, 1)
		if err != nil {
			t.Fatal(err)
		}
		if again.N == 0 && (again.Wait <= 0 || again.Wait.Seconds() > 1/rate+0.1) {
			t.Errorf("rate %v: a full horizon says to wait %v, want more than 0 and at most an interval and 100ms", rate, again.Wait)
		}
	}
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
	var busy, other throttle.Slots
	for attempt := range 3 { // a reply that a busy machine delays costs its first slots
		busy = s.lease(t, l, fmt.Sprint("busy ", attempt), 80, 1000)
		other = s.lease(t, l, fmt.Sprint("other ", attempt), 80, 1000)
		if other.N >= busy.N-1 {
			return
		}
	}
	t.Errorf("a busy key left another %d slots, want %d", other.N, busy.N)
}

func ended(t *testing.T, _ suite, l throttle.Limiter) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := l.Lease(ctx, "number", 80, 1); err == nil || got.N != 0 {
		t.Errorf("Lease = %+v, %v; want the context's error", got, err)
	}
}

// send is a saturated sender for the given time: leases of a fifth of a second's work, one
// "send" at each slot. It returns the instants of the slots.
func (s suite) send(t *testing.T, l throttle.Limiter, key string, limit float64, d time.Duration) []time.Time {
	var sent []time.Time
	pace := limit * s.factor
	for end := time.Now().Add(d); time.Now().Before(end); {
		got, err := l.Lease(t.Context(), key, pace, max(1, int(pace/5)))
		if errors.Is(err, throttle.ErrUnavailable) { // what is lost by it shows in the mean
			time.Sleep(retry)
			continue
		}
		if err != nil {
			t.Errorf("lease: got %v, want nil or ErrUnavailable", err)
			return sent
		}
		if got.N == 0 {
			time.Sleep(got.Wait)
			continue
		}
		for i := range got.N {
			sent = append(sent, got.At(i))
		}
		// 50 ms before the end: late enough for leases of more than one slot (throttle.md, P7).
		time.Sleep(time.Until(got.At(got.N-1)) - 50*time.Millisecond)
	}
	return sent
}

// retry is how long a sender waits for a limiter that is unavailable: one reply that a busy machine delays too long is
// an error by contract.
const retry = 20 * time.Millisecond

// calm tries what only a machine that is not busy can do, up to three times: it fails when it never held although the machine
// was not busy at last. In virtual time there is one attempt and no excuse.
func (s suite) calm(t *testing.T, try func(attempt int) error) {
	t.Helper()
	var err error
	var overslept time.Duration
	for attempt := range 3 {
		if s.tick == 0 {
			if err = try(attempt); err != nil {
				t.Error(err)
			}
			return
		}
		stop := Watch()
		err, overslept = try(attempt), stop()
		if err == nil || t.Failed() {
			return
		}
		if overslept > TooBusy {
			break
		}
	}
	if overslept <= Busy {
		t.Error(err)
		return
	}
	t.Logf("the limit held; the machine was too busy (overslept by %v) to judge the pace: %v", overslept, err)
}

func near(got, want, by float64) error {
	if math.Abs(got/want-1) <= by {
		return nil
	}
	return fmt.Errorf("%.2f per second, want %.2f within %.0f %%", got, want, 100*by)
}

// lease asks until there is a slot.
func (s suite) lease(t *testing.T, l throttle.Limiter, key string, rate float64, n int) throttle.Slots {
	t.Helper()
	for range 100 {
		got, err := l.Lease(t.Context(), key, rate, n)
		if errors.Is(err, throttle.ErrUnavailable) {
			time.Sleep(retry)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.N > 0 {
			return got
		}
		time.Sleep(got.Wait)
	}
	t.Fatalf("%s: got no slot in 100 leases, want one", key)
	return throttle.Slots{}
}

// worstIn is the largest number of instants in any half-open stretch of length d.
func worstIn(instants []time.Time, d time.Duration) int {
	scaled := make([]time.Time, len(instants))
	for i, t := range instants {
		scaled[i] = instants[0].Add(time.Duration(float64(t.Sub(instants[0])) * float64(time.Second) / float64(d)))
	}
	return WorstSecond(scaled)
}
