package sender_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// page is what a proxy or a firewall in front of the service says.
const page = "<html><body>Request blocked.</body></html>"

// swallow never answers: the request ends with its time-out.
func swallow(q *request) *http.Response {
	<-q.ctx.Done()
	return nil
}

// probesOf is how many requests may test a breaker in so long: 3 each time that a rest of 5 s, 10 s
// and so on up to 5 minutes is over.
func probesOf(d time.Duration) (n int) {
	for rest, at := 5*time.Second, time.Duration(0); at+rest < d; rest = min(2*rest, 5*time.Minute) {
		at += rest
		n += 3
	}
	return n
}

// A service that proves nothing for 5 minutes gets at most 30 requests of a number, and 3 for each
// test. The other number goes on, and the failing one goes on at most one rest after it works
// again. Nobody is refused.
func TestAFailingServiceCostsNoRecipient(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(*request) *http.Response
		lasts  time.Duration
		doubts bool
	}{
		{"it swallows every request", swallow, 5 * time.Minute, true},
		{"200 without an id", func(*request) *http.Response { return respond(200, `{"data":{}}`) }, 2 * time.Minute, true},
		{"HTML with 200", func(*request) *http.Response { return respond(200, page) }, 2 * time.Minute, true},
		{"HTML with 403", func(*request) *http.Response { return respond(403, page) }, 2 * time.Minute, false},
		{"HTML with 502", func(*request) *http.Response { return respond(502, page) }, 2 * time.Minute, true},
		{"500", func(*request) *http.Response { return respond(500, `{"error":"internal"}`) }, 2 * time.Minute, true},
	} {
		if (testing.Short() || !long) && tt.name != "500" {
			continue // minutes at full rate each, which the race detector makes twenty times longer
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				const rows, from = 5000, 500 // two segments
				s.launch("spring", rows, "conn_1")
				s.launch("autumn", pace*int((tt.lasts+20*time.Second).Seconds()), "conn_2") // it lasts longer than the faults
				var failed time.Time
				s.answer = func(q *request) *http.Response {
					if q.connection != "conn_1" || q.nth < from {
						return nil
					}
					s.mu.Lock()
					if failed.IsZero() {
						failed = q.at
					}
					failing := q.at.Before(failed.Add(tt.lasts))
					s.mu.Unlock()
					if failing {
						return tt.answer(q)
					}
					return nil
				}
				_, stop := s.start("a")
				time.Sleep(10 * time.Second)
				time.Sleep(time.Until(failed.Add(tt.lasts)))
				healthy := time.Now()
				most := 30 + probesOf(tt.lasts)
				failing := s.count(failed, healthy, func(q *request) bool { return q.connection == "conn_1" && q.nth >= from })
				if failing > most || failing < 20 {
					t.Errorf("%d posts in %v of faults, want 20 to %d", failing, tt.lasts, most)
				}
				s.steady("the other number", failed, healthy, pace, over("conn_2"))
				if got := s.holds(); !slices.Equal(got, []string{"connection conn_1 breaker"}) {
					t.Errorf("holds %q, want that of the breaker", got)
				}
				if h, err := s.ledger.Holds(t.Context(), false); err == nil && len(h) == 1 {
					time.Sleep(max(time.Until(h[0].Until), 0))
				}
				again := time.Now()
				time.Sleep(10 * time.Second)
				if n := s.count(again, time.Now(), over("conn_1")); n < 5*pace {
					t.Errorf("%d posts in the 10 s after the rest, want %d or more", n, 5*pace)
				}
				if got := s.holds(); len(got) > 0 {
					t.Errorf("holds %q, want none", got)
				}
				time.Sleep(20 * time.Minute)
				stop()
				got := s.tallies("spring")
				if tt.doubts && int(got["accepted"]) < rows-failing || !tt.doubts && got["accepted"] != rows {
					t.Errorf("%v, want all accepted but what is in doubt of %d", sortedKeys(got), failing)
				}
				for status := range got {
					if strings.HasPrefix(status, "refused") {
						t.Errorf("%v, want nobody refused", sortedKeys(got))
					}
				}
				s.end()
			})
		})
	}
}

// A service that cannot be reached costs nobody a try, and a blip of a second costs a second.
func TestAnUnreachableServiceKeepsEverybody(t *testing.T) {
	for _, lasts := range []time.Duration{time.Second, 5 * time.Minute} {
		t.Run(lasts.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.launch("spring", 4000, "conn_1")
				failed := time.Now().Add(5 * time.Second)
				var tries atomic.Int64
				s.away = func() bool {
					now := time.Now()
					is := now.After(failed) && now.Before(failed.Add(lasts))
					if is {
						tries.Add(1)
					}
					return is
				}
				_, stop := s.start("a")
				time.Sleep(5*time.Second + lasts)
				healthy := time.Now()
				if n, most := int(tries.Load()), 30+probesOf(lasts); n > most || n == 0 {
					t.Errorf("%d tries in %v, want 1 to %d", n, lasts, most)
				}
				if lasts == time.Second {
					time.Sleep(2500 * time.Millisecond)
					if n := s.count(healthy, time.Now(), nil); n == 0 {
						t.Error("0 posts in 2.5 s after a blip, want it to go on")
					}
				}
				time.Sleep(10 * time.Minute)
				stop()
				if got := s.tallies("spring"); got["accepted"] != 4000 {
					t.Errorf("%v, want 4000 accepted", sortedKeys(got))
				}
				s.end()
			})
		})
	}
}

// A firewall's page about one recipient's text in a hundred is about that recipient: it is tried 3
// times and refused, and the others go on at full rate.
func TestOneRecipientsTroubleIsOneRecipients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.launch("spring", 3000, "conn_1")
		tries := map[string]int{}
		s.answer = func(q *request) *http.Response {
			if q.to[len(q.to)-2:] != "77" {
				return nil
			}
			s.mu.Lock()
			tries[q.to]++
			s.mu.Unlock()
			return respond(403, page)
		}
		began := time.Now()
		_, stop := s.start("a")
		time.Sleep(40 * time.Second)
		s.steady("beside the poison", began.Add(time.Second), time.Now(), pace, nil)
		if got := s.holds(); len(got) > 0 {
			t.Errorf("holds %q, want none", got)
		}
		time.Sleep(2 * time.Minute)
		stop()
		if got := s.tallies("spring"); got["accepted"] != 2970 || got["refused http_403"] != 30 {
			t.Errorf("%v, want 2970 accepted and 30 refused http_403", sortedKeys(got))
		}
		for to, n := range tries {
			if n != 3 {
				t.Errorf("%s was tried %d times, want 3", to, n)
			}
		}
		if run, err := s.ledger.Run(t.Context(), s.runs["spring"].No); err != nil || run.State != campaign.Finished {
			t.Errorf("the run is %s (%v), want it finished", run.State, err)
		}
		s.end()
	})
}

// A breaker survives a restart: the next process tests it with 3 requests, and not more.
func TestABreakerSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.launch("spring", 2000, "conn_1")
		failed := time.Now().Add(5 * time.Second)
		s.answer = func(q *request) *http.Response {
			if q.at.After(failed) {
				return respond(500, page)
			}
			return nil
		}
		for i := range 4 {
			_, stop := s.start(fmt.Sprintf("process %d", i))
			time.Sleep(8 * time.Second)
			stop()
		}
		if n, most := s.count(failed, time.Now(), nil), 60+probesOf(time.Since(failed)); n > most {
			t.Errorf("%d posts over four processes, want at most %d", n, most)
		}
		s.end()
	})
}
