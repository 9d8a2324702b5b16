package sender_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// stalling is what a scene's way to the service does. It is a wire log, a dialler, and the listener
// of the service.
type stalling struct {
	what  string // the wire log, the dialler or the pool
	from  time.Time
	lasts time.Duration
	dials time.Duration // how long a connection takes at other times
	conns chan net.Conn

	mu       sync.Mutex
	entries  map[int]campaign.Post // of the wire log
	next     int
	unposted int
}

// standStill waits for the end of the stall, if what stands still now.
func (s *stalling) standStill(what string) {
	if since := time.Since(s.from); s.what == what && since >= 0 && since < s.lasts {
		time.Sleep(s.lasts - since)
	}
}

func (s *stalling) Note(p campaign.Post, _ int64) (int, error) {
	s.standStill("wire log")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.entries[s.next] = p
	return s.next, nil
}

func (s *stalling) Unposted(entry int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unposted++
	delete(s.entries, entry)
	return true
}

func (s *stalling) Recorded(entry int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, entry)
}

func (s *stalling) dial(context.Context, string, string) (net.Conn, error) {
	time.Sleep(s.dials)
	s.standStill("dialler")
	near, far := net.Pipe()
	s.conns <- far
	return near, nil
}

func (s *stalling) Accept() (net.Conn, error) {
	c, ok := <-s.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (s *stalling) Close() error   { close(s.conns); return nil }
func (s *stalling) Addr() net.Addr { return &net.UnixAddr{} }

// over serves the scene through real connections of a client with so many, until the returned
// function is called.
func (s *stalling) over(scene *scene, most int) (closed func()) {
	s.conns, s.entries = make(chan net.Conn), map[int]campaign.Post{}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := scene.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		s.standStill("pool")
		w.Header()["Content-Type"] = resp.Header["Content-Type"]
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body) // a client that is gone is a failing test
	})}
	served := make(chan error)
	go func() { served <- server.Serve(s) }()
	var err error
	scene.client, err = service.New(service.Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret(simKey), Dial: s.dial,
		MaxInFlight: most})
	if err != nil {
		scene.t.Fatal(err)
	}
	return func() {
		scene.client.Close()
		server.Close()
		<-served
	}
}

// A wire log, a dialler or a pool of connections that stands still makes no second fuller than the
// pace, puts nobody in doubt and loses nobody. The notes of late attempts are taken back.
func TestAStallSendsNoSecondOverTheLimit(t *testing.T) {
	for _, what := range []string{"wire log", "dialler", "pool"} {
		for _, lasts := range []time.Duration{300 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second} {
			t.Run(fmt.Sprint(what, " ", lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, st := newScene(t), &stalling{what: what, from: time.Now().Add(2 * time.Second), lasts: lasts, dials: 5 * time.Millisecond}
					most := 100
					if what == "dialler" {
						st.from = time.Now()
					}
					if what == "pool" {
						most = 9 // just enough for answers of 100 ms
					}
					defer st.over(s, most)()
					const rows = 400
					s.launch("promo", rows, "conn_1")
					s.options = func(o *sender.Options) { o.Wire = st }
					_, stop := s.start("a")
					time.Sleep(20 * time.Second)
					stop()
					s.notOver("conn_1", 80)
					if got := s.tallies("promo"); got["accepted"] != rows || len(got) != 1 {
						t.Errorf("got %v, want %d accepted and nobody else", sortedKeys(got), rows)
					}
					if len(st.entries) > 0 || what == "wire log" && st.unposted == 0 {
						t.Errorf("%d notes are left and %d were taken back, want 0 and some", len(st.entries), st.unposted)
					}
					s.end()
				})
			})
		}
	}
}

// The same stalls break neither a run's own rate nor the distance of two messages to one person.
func TestAStallBreaksNoLimitOfARunOrAPair(t *testing.T) {
	for _, what := range []string{"wire log", "dialler", "pool"} {
		synctest.Test(t, func(t *testing.T) {
			s, st := newScene(t), &stalling{what: what, from: time.Now().Add(2 * time.Second), lasts: 3 * time.Second}
			if what == "dialler" {
				st.from = time.Now()
			}
			defer st.over(s, 3)()
			const rows, rate = 60, 5
			var list []string
			for i := range rows {
				list = append(list, phone(i))
			}
			for _, template := range []string{"promo", "news"} {
				s.launchTo(template, list, "MARKETING", fmt.Sprintf("{rate: %d}", rate), "conn_1")
			}
			s.options = func(o *sender.Options) { o.Wire = st }
			_, stop := s.start("a")
			time.Sleep(time.Minute)
			stop()
			posts, last := map[string][]time.Time{}, map[string]time.Time{}
			for _, q := range s.requests {
				posts[q.template] = append(posts[q.template], q.at)
				if since := q.at.Sub(last[q.to]); since < campaign.PairSpace {
					t.Errorf("%s: two messages to one person within %v, want %v or more", what, since, campaign.PairSpace)
				}
				last[q.to] = q.at
			}
			for template, at := range posts {
				if worst := worstSecond(at); worst > 2*rate+1 {
					t.Errorf("%s: %d requests of %s in one second, want at most %d", what, worst, template, 2*rate+1)
				}
				if got := s.tallies(template); got["accepted"] != rows {
					t.Errorf("%s: got %v of %s, want %d accepted", what, sortedKeys(got), template, rows)
				}
			}
			s.end()
		})
	}
}

// Each connection takes 300 ms and serves one request. The slot of the attempt that makes it is
// over then; the next attempt uses it.
func TestASlowDialStarvesNoNumber(t *testing.T) {
	for name, rate := range map[string]float64{"fast": pace, "slow": 0.01} {
		synctest.Test(t, func(t *testing.T) {
			s, st := newScene(t), &stalling{dials: 300 * time.Millisecond}
			defer st.over(s, 100)()
			s.answer = func(q *request) *http.Response {
				s.mu.Lock()
				q.accepted = true
				s.mu.Unlock()
				return respond(200, fmt.Sprintf(`{"data":{"messageId":"wamid.%s"}}`, q.to))
			}
			const rows = 6
			s.launch("promo", rows, "conn_1")
			s.options = func(o *sender.Options) { o.Pace = func(string) float64 { return rate } }
			_, stop := s.start("a")
			time.Sleep(time.Duration(math.Ceil(2*rows/rate)) * time.Second)
			stop()
			if got := s.tallies("promo"); got["accepted"] != rows {
				t.Errorf("%s: got %v, want %d accepted", name, sortedKeys(got), rows)
			}
			s.end()
		})
	}
}

// notOver requires that no second had more requests of a connection than its limit, and none more
// than the pace and the lateness of slots allow.
func (s *scene) notOver(connection string, limit int) {
	s.t.Helper()
	s.mu.Lock()
	var at []time.Time
	for _, q := range s.requests {
		if q.connection == connection {
			at = append(at, q.at)
		}
	}
	s.mu.Unlock()
	worst := worstSecond(at)
	if most := int(math.Ceil(pace*(1+lateness.Seconds()))) + 1; worst > most {
		s.t.Errorf("%d requests of %s in one second, want at most %d (the limit is %d)", worst, connection, most, limit)
	}
}
