//go:build long

package sender_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Two replicas share a breaker: one of them tests it, with up to 3 requests under way.
func TestReplicasTestABreakerTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.launch("spring", 20000, "conn_1")
		failed := time.Now().Add(5 * time.Second)
		s.answer = func(q *request) *http.Response {
			if q.at.After(failed) && q.at.Before(failed.Add(5*time.Minute)) {
				return swallow(q)
			}
			return nil
		}
		var stops []func()
		for i := range 3 {
			_, stop := s.start(fmt.Sprintf("replica %d", i))
			stops = append(stops, stop)
		}
		time.Sleep(time.Until(failed.Add(5 * time.Minute)))
		// Each replica may have its 30 requests unanswered.
		opened := failed.Add(30 * time.Second)
		if n, most := s.count(opened, time.Now(), nil), probesOf(5*time.Minute); n > most || n == 0 {
			t.Errorf("%d posts after the breaker had opened, want 1 to %d", n, most)
		}
		if n := s.count(opened, time.Now(), func(q *request) bool { return q.flying > 3 }); n > 0 {
			t.Errorf("%d posts beside 3 others, want 0", n)
		}
		time.Sleep(15 * time.Minute)
		for _, stop := range stops {
			stop()
		}
		if got := s.tallies("spring"); got["accepted"] < 20000-3*30-60 {
			t.Errorf("%v, want all accepted but what is in doubt", sortedKeys(got))
		}
		s.end()
	})
}
