// Package throttletest is the suite that every throttle.Limiter passes, and the counting that
// tests of rates share: the worst sliding second, the mean, the longest silence.
//
// Tests of throttle call it, and so may tests of code that paces with a Limiter. Run takes real
// time. RunVirtual takes the fake time of testing/synctest, where a minute of sending costs
// milliseconds and the limit must hold to the nanosecond.
package throttletest

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
)

// Run tests the limiter in real time, about 7 seconds. It sends at 0.98 of the limit, because the
// limiter's clock and ours agree to a fraction of an interval, not to the nanosecond. Each case
// gets a limiter that has never seen its keys. The cases run in parallel.
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

// RunVirtual tests the limiter in the fake time of a synctest bubble. It sends at the limit itself.
// The limiter must read no clock but time.Now.
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
	tick   time.Duration // how exact an instant is; 0: virtual time
	spell  time.Duration // how long a demand lasts
	rates  []float64     // limits in messages per second
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
	{"AThrottledKeySlowsDown", throttled},
	{"AfterACoolDownACutFollowsAnother", cooled},
	{"AKeyThatIsRefusedProbesAndRecovers", recovers},
	{"WhatComesInIsCounted", comesIn},
	{"PermissionsKeepTheRate", permitRate},
	{"PermissionsStartWithoutABurst", permitStart},
	{"IdleTimeIsWorthATolerance", permitIdle},
	{"ARefusalSaysWhenToAskAgain", permitWait},
	{"ARaisedRateCountsAtOnceWithoutABurst", permitRaised},
	{"PermissionsOfKeysAreIndependent", permitKeys},
	{"PermissionMistakesAreRefused", permitMistakes},
}

// each runs f for every rate in parallel, each with a key of its own.
func (s suite) each(f func(limit float64, key string)) {
	var wg sync.WaitGroup
	for _, limit := range s.rates {
		wg.Go(func() { f(limit, fmt.Sprint("number ", limit)) })
	}
	wg.Wait()
}

// send is a saturated sender for the given time: it leases a fifth of a second's work and "sends"
// at each slot. It returns the instants of the slots.
func (s suite) send(t *testing.T, l throttle.Limiter, key string, limit float64, d time.Duration) []time.Time {
	var sent []time.Time
	pace := limit * s.factor
	for end := time.Now().Add(d); time.Now().Before(end); {
		got, err := l.Lease(t.Context(), key, pace, max(1, int(pace/5)))
		if errors.Is(err, throttle.ErrUnavailable) { // the slots lost by it show in the mean
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
		// 50 ms before the end is late enough for leases of more than one slot.
		time.Sleep(time.Until(got.At(got.N-1)) - 50*time.Millisecond)
	}
	return sent
}

// retry is how long a sender waits for a limiter that is unavailable. By contract, one reply that a
// busy machine delays for too long is an error.
const retry = 20 * time.Millisecond

// calm tries what needs a machine that is not busy, up to three times. It fails when no attempt
// succeeded and the machine was not busy in the last one. In virtual time there is one attempt.
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
	t.Logf("the limit held; the machine was too busy (overslept by %v) to test the pace: %v", overslept, err)
}

// near is an error unless got is want within the part by.
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
