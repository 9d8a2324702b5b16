package sender_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
)

// rateOfARun sends a run with a limit of its own over two numbers and two replicas. It returns what
// is wrong with its rate.
func rateOfARun(t *testing.T) (wrong []string) {
	const limit = 20.0 // per second; each number could send 68
	s := newScene(t)
	s.launchAs("capped", 9_000, "UTILITY", "{rate: 20}", "conn_1", "conn_2")
	stop := s.startAll(2)
	began := time.Now()
	time.Sleep(35 * time.Second)
	stop()
	from, to := began.Add(5*time.Second), began.Add(35*time.Second)
	if got := float64(s.count(from, to, nil)) / to.Sub(from).Seconds(); got < 0.95*limit || got > 1.01*limit {
		wrong = append(wrong, fmt.Sprintf("%.1f messages per second of the run, want %v", got, limit))
	}
	s.mu.Lock()
	var at []time.Time
	for _, q := range s.requests {
		at = append(at, q.at)
	}
	s.mu.Unlock()
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		for j := i; j < len(at); j++ {
			window := at[j].Sub(at[i])
			if got, most := float64(j-i+1), limit*(window+throttle.Tolerance).Seconds()+1; got > most {
				wrong = append(wrong, fmt.Sprintf("%.0f messages in %v, want at most %.1f", got, window, most))
				s.end()
				return wrong
			}
		}
	}
	s.end()
	return wrong
}

// A run's own limit holds over all of its numbers and replicas together, in any time.
func TestARunsOwnLimitIsOfAllNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, w := range rateOfARun(t) {
			t.Errorf("got %s", w)
		}
	})
}
