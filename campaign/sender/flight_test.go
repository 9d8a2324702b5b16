package sender

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// hushed is a service that answers after took until it falls silent. Then requests end with a
// time-out after 10 s.
type hushed struct {
	took time.Duration
	well time.Time // until then it answers

	mu     sync.Mutex
	posts  []time.Time
	flying int
	most   int
}

func (s *hushed) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	now := time.Now()
	s.mu.Lock()
	s.posts = append(s.posts, now)
	s.flying++
	s.most = max(s.most, s.flying)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.flying--
		s.mu.Unlock()
	}()
	if now.Before(s.well) {
		time.Sleep(s.took)
		return messaging.Receipt{MessageID: "wamid." + m.To}, nil
	}
	<-ctx.Done()
	return messaging.Receipt{}, &messaging.Error{Proof: messaging.Doubt, Code: "time_out"}
}

// after counts the posts that began at t or later.
func (s *hushed) after(t time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.posts {
		if !at.Before(t) {
			n++
		}
	}
	return n
}

// The bound follows the usual latency: a number that is answered is never slowed by it.
func TestUnansweredPostsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		pace float64
		took time.Duration
		most int // at once, when the service has fallen silent
	}{
		{"80/s, 100 ms", 80, 100 * time.Millisecond, 30},
		{"80/s, 1 s", 80, time.Second, 240},
		{"1000/s, 100 ms", 1000, 100 * time.Millisecond, 300},
		{"1000/s, 1 s: sending.in_flight", 1000, time.Second, 512},
		{"1000/s, silent from the start", 1000, 0, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &hushed{took: tt.took, well: time.Now()}
				if tt.took > 0 {
					s.well = s.well.Add(3*time.Second + 1)
				}
				l := &awayLedger{n: 1 << 20, back: make(chan struct{})}
				close(l.back)
				e, err := New(l, s, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return tt.pace }})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				time.Sleep(10 * time.Second)
				stop()
				if err := <-ended; err != nil {
					t.Errorf("the engine ended with %v, want nil", err)
				}
				if tt.took > 0 && float64(tt.most)/tt.took.Seconds() > 1.5*tt.pace {
					// 2 s of full pace: the first second may wait for the first answer.
					sent := s.after(began.Add(time.Second)) - s.after(began.Add(3*time.Second))
					if float64(sent) < 0.97*2*tt.pace {
						t.Errorf("%d posts in 2 s of a healthy service, want %.0f", sent, 2*tt.pace)
					}
				}
				if n := s.after(s.well); n > tt.most || s.most > tt.most {
					t.Errorf("%d posts after it fell silent, %d at once, want at most %d", n, s.most, tt.most)
				}
			})
		})
	}
}

// A number with few places keeps them busy: no free one waits for the instant of a later slot. With
// 48 places and answers after 50 ms, 960 messages a second are the most (Little's law).
func TestFewPlacesAreKeptBusy(t *testing.T) {
	for _, tt := range []struct {
		places int
		pace   float64
	}{{8, 200}, {8, 1_000}, {48, 1_000}, {48, 5_000}, {48, 100_000}, {200, 5_000}, {200, 100_000}} {
		t.Run(fmt.Sprintf("%d at %v", tt.places, tt.pace), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const took = 50 * time.Millisecond
				s := &hushed{took: took, well: time.Now().Add(time.Hour)}
				l := &awayLedger{n: 1 << 20, back: make(chan struct{})}
				close(l.back)
				e, err := New(l, s, throttle.NewLocal(), Options{
					Owner: "a", MaxInFlight: tt.places, Pace: func(string) float64 { return tt.pace },
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				time.Sleep(2 * time.Second)
				from := s.after(time.Time{})
				time.Sleep(5 * time.Second)
				sent := s.after(time.Time{}) - from
				stop()
				<-ended
				law := float64(tt.places) / took.Seconds() * 5
				if share := float64(sent) / law; share < 0.94 {
					t.Errorf("got %.3f of Little's law, want at least 0.94", share)
				}
			})
		})
	}
}

// A fast start is not slowed by the bound: 80/s with answers of 100 ms.
func TestAFastStartIsNotSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hushed{took: 100 * time.Millisecond, well: time.Now().Add(time.Hour)}
		l := &awayLedger{n: 1 << 20, back: make(chan struct{})}
		close(l.back)
		e, err := New(l, s, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return 80 }})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(time.Second)
		stop()
		<-ended
		if n := len(s.posts); n < 79 {
			t.Errorf("%d posts in the first second, want 79 or more; first at %v", n, s.posts[0].Sub(began))
		}
		if lanes := e.Stats()[0].Lanes; strings.Contains(string(lanes[0].LimitedBy), "flight") {
			t.Errorf("limited by %s, want throughput", lanes[0].LimitedBy)
		}
	})
}
