package sender_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/throttle"
	"campaignd/throttle/throttletest"
	"campaignd/throttle/throughput"
)

// A number whose way is even sends at more than its first pace after 2,000 messages, and says what
// it keeps back. When the service refuses a message for the throughput, it goes back to that pace.
// No second has more than the limit.
func TestAPaceIsLearnedAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		limit := throughput.Number{}.Pace()
		s.options = func(o *sender.Options) {
			o.Pace = func(string) float64 { return limit.Rate }
			o.Limit = func(string) throughput.Pace { return limit }
		}
		refuseFrom := time.Time{} // one message
		s.answer = func(q *request) *http.Response {
			time.Sleep(time.Duration(q.nth%7) * time.Millisecond)
			s.mu.Lock()
			defer s.mu.Unlock()
			if refuseFrom.IsZero() || q.at.Before(refuseFrom) {
				return nil
			}
			refuseFrom = time.Time{}
			return refuse(130429)
		}
		s.launch("promo", 6500, "conn_1")
		s.limiter.(throttle.Sharer).Heard("conn_1", time.Now(), false)
		e, stop := s.start("a")
		why := func(want string) {
			t.Helper()
			st := e.Stats()[0]
			if st.Kept == nil || !strings.Contains(st.Kept.Why, want) {
				t.Errorf("the pace is %v, want one because %q", st.Kept, want)
			}
			if detail := st.Lanes[0].Detail; st.Lanes[0].LimitedBy == campaign.ByThroughput && !strings.Contains(detail, want) {
				t.Errorf("the lane says %q, want %q in it", detail, want)
			}
		}
		time.Sleep(10 * time.Second)
		why("of 2000 messages are measured")
		time.Sleep(50 * time.Second)
		why("uneven by")
		s.steady("after 2,000 messages", s.began.Add(40*time.Second), s.began.Add(60*time.Second), 79/1.018, nil)
		if n := s.count(s.began.Add(40*time.Second), s.began.Add(60*time.Second), nil); n < 20*76 {
			t.Errorf("%d messages in 20 s, want 76 a second or more", n)
		}
		s.mu.Lock()
		refuseFrom = time.Now()
		s.mu.Unlock()
		time.Sleep(22 * time.Second)
		why("refused a message")
		if n := s.count(s.began.Add(72*time.Second), s.began.Add(82*time.Second), nil); n > 685 {
			t.Errorf("%d messages in 10 s after the refusal, want at most 68.4 a second", n)
		}
		stop()
		var at []time.Time
		for _, q := range s.requests {
			at = append(at, q.at)
		}
		slices.SortFunc(at, time.Time.Compare)
		if worst := throttletest.WorstSecond(at); worst > 80 {
			t.Errorf("%d messages in a second, want at most 80", worst)
		}
		s.end()
	})
}
