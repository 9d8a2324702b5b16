package sender

import (
	"testing"
	"time"
)

func TestRequestTimesAreCountedInBuckets(t *testing.T) {
	e := &Engine{}
	for _, d := range []time.Duration{50 * time.Millisecond, 51 * time.Millisecond, time.Second, 25 * time.Second, 26 * time.Second} {
		e.times.add(d)
	}
	got := e.RequestTimes()
	if want := (52*time.Second + 101*time.Millisecond).Seconds(); got.Count != 5 || got.Seconds != want {
		t.Errorf("got %d requests in %v s, want 5 in %v", got.Count, got.Seconds, want)
	}
	for bound, want := range map[float64]uint64{0.05: 1, 0.1: 2, 0.5: 2, 1: 3, 10: 3, 25: 4} {
		if got.Buckets[bound] != want {
			t.Errorf("at most %v s: got %d, want %d", bound, got.Buckets[bound], want)
		}
	}
}
