package throttletest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"campaignd/throttle"
)

// rate asks for a lease and returns the slots with the rate that they have.
func (s suite) rate(t *testing.T, l throttle.Limiter, key string, ceiling float64) throttle.Slots {
	t.Helper()
	got := s.lease(t, l, key, ceiling, 1)
	if got.Rate > ceiling || math.Abs(got.Interval.Seconds()*got.Rate-1) > 1e-6 {
		t.Errorf("%s: slots every %v at %v per second, want an interval of the rate, at most %v", key, got.Interval, got.Rate, ceiling)
	}
	return got
}

// slower fails the test when the rate of key is not part of the ceiling.
func (s suite) slower(t *testing.T, l throttle.Limiter, key string, ceiling, part float64) throttle.Slots {
	t.Helper()
	got := s.rate(t, l, key, ceiling)
	if math.Abs(got.Rate/ceiling-part) > 1e-6 {
		t.Errorf("%s: sends at %v per second, want %v of %v", key, got.Rate, part, ceiling)
	}
	return got
}

// throttled: a throttling answer slows its key down, once for all that was sent at the rate before,
// and no other key. A new ceiling keeps the multiplier.
func throttled(t *testing.T, s suite, l throttle.Limiter) {
	first := s.slower(t, l, "number", 80, 1)
	l.Observe("number", first.Stage, false)
	s.slower(t, l, "number", 80, 1)
	l.Observe("number", first.Stage, true)
	cut := s.slower(t, l, "number", 80, 0.7)
	if cut.Stage == first.Stage {
		t.Errorf("after a cut the stage is %v, want another", cut.Stage)
	}
	for range 20 {
		l.Observe("number", first.Stage, true)
	}
	l.Observe("number", cut.Stage, false)
	s.slower(t, l, "number", 80, 0.7)
	s.slower(t, l, "number", 40, 0.7)
	s.slower(t, l, "another number", 80, 1)
}

// cooled: after the cool-down of a cut, throttling of messages sent since cuts again.
func cooled(t *testing.T, s suite, l throttle.Limiter) {
	l.Observe("number", s.rate(t, l, "number", 80).Stage, true)
	cut := s.slower(t, l, "number", 80, 0.7)
	time.Sleep(1100 * time.Millisecond)
	calm := s.slower(t, l, "number", 80, 0.7)
	if calm.Stage == cut.Stage {
		t.Errorf("a second after the cut the stage is %v, want another", calm.Stage)
	}
	l.Observe("number", calm.Stage, true)
	s.slower(t, l, "number", 80, 0.49)
}

// deadline is d from now in virtual time. A busy machine may take longer.
func (s suite) deadline(d time.Duration) time.Time {
	if s.tick > 0 {
		d = time.Minute
	}
	return time.Now().Add(d)
}

// recovers: where all is refused one message a second probes, and the rate grows after one is
// accepted.
func recovers(t *testing.T, s suite, l throttle.Limiter) {
	for _, ceiling := range []float64{20, 1000} {
		key := fmt.Sprint("number ", ceiling)
		got := s.rate(t, l, key, ceiling)
		for end := s.deadline(1500 * time.Millisecond); time.Now().Before(end) && got.Rate > 1; {
			for range 10 {
				l.Observe(key, got.Stage, true)
			}
			time.Sleep(50 * time.Millisecond)
			got = s.rate(t, l, key, ceiling)
		}
		if got.Rate != 1 {
			t.Errorf("ceiling %v: all refused for 1.5 s, and it sends at %v per second, want 1", ceiling, got.Rate)
		}
		l.Observe(key, got.Stage, false)
		got = s.slower(t, l, key, ceiling, 0.1)
		for end := s.deadline(2 * time.Second); time.Now().Before(end) && got.Rate <= 0.1*ceiling; {
			for range int(ceiling / 10) {
				l.Observe(key, got.Stage, false)
			}
			time.Sleep(50 * time.Millisecond)
			got = s.rate(t, l, key, ceiling)
		}
		if got.Rate <= 0.1*ceiling {
			t.Errorf("ceiling %v: two seconds after an accepted probe %v per second, want more than %v", ceiling, got.Rate, 0.1*ceiling)
		}
	}
}
