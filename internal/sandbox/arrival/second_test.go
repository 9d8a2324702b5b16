package arrival

import (
	"testing"
	"testing/synctest"
	"time"
)

// The worst second may begin at any instant, not only with a second of the clock.
func TestWorstSecondIsOfAnyWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Second
		base := time.Now()
		for i := range 40 { // 40 in the last 400 ms of a second, 40 in the first 400 ms of the next
			s.Add(base.Add(600*time.Millisecond + time.Duration(i)*10*time.Millisecond))
		}
		for i := range 40 {
			s.Add(base.Add(time.Second + time.Duration(i)*10*time.Millisecond))
		}
		if s.worst != 80 {
			t.Errorf("the worst second has %d, want 80", s.worst)
		}
		for i := range 100_000 { // the memory does not grow with the time
			s.Add(base.Add(time.Hour + time.Duration(i)*100*time.Millisecond))
		}
		if s.worst != 80 || cap(s.at) > 1000 {
			t.Errorf("the worst second has %d with a capacity of %d, want 80 and at most 1000", s.worst, cap(s.at))
		}
	})
}

// An instant that is added late counts in each second that holds it.
func TestALateArrivalCountsWhereItBelongs(t *testing.T) {
	var s Second
	ms := func(n int64) time.Time { return time.UnixMilli(n) }
	for _, at := range []int64{5000, 5300, 5900, 6400, 6950} { // 3 in a second at most
		s.Add(ms(at))
	}
	for _, c := range []struct{ at, worst int64 }{
		{4000, 3}, // a second ends before 5000
		{5450, 4}, // 5000 to 5900
		{5950, 5}, // 5000 to 5950
	} {
		s.Add(ms(c.at))
		if s.worst != int(c.worst) {
			t.Errorf("after %d ms the worst second has %d, want %d", c.at, s.worst, c.worst)
		}
	}
}
