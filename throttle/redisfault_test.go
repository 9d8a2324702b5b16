package throttle_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/throttle/redistest"
	"campaignd/throttle/throttletest"
)

// long multiplies how long the tests in real time send: set CAMPAIGND_LONG=3 for ten-second runs.
func long(d time.Duration) time.Duration {
	if n, err := strconv.Atoi(os.Getenv("CAMPAIGND_LONG")); err == nil && n > 0 {
		return time.Duration(n) * d
	}
	return d
}

// incident sends from four limiters for d at 0.95 of limit, calls happen once they are under way,
// and returns the instants of sending.
func incident(t *testing.T, url string, limit float64, d time.Duration, happen func()) []time.Time {
	t.Helper()
	const senders = 4
	ctx, cancel := context.WithTimeout(t.Context(), long(d))
	defer cancel()
	var mu sync.Mutex
	var sent []time.Time
	var wg sync.WaitGroup
	for range senders {
		l := hasty(t, url)
		wg.Go(func() {
			pace(ctx, l, "conn_1", 0.95*limit, senders, func(now time.Time) {
				mu.Lock()
				sent = append(sent, now)
				mu.Unlock()
			})
		})
	}
	// A cold start is silent for the guard. One second later all four hold leases.
	timer := time.NewTimer(1400 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	happen()
	wg.Wait()
	return sent
}

// The faults of docs/limits.md#when-redis-is-away: whatever happens to the server, no second is
// above the limit, and the silence is the outage and at most a second.
func TestRedisLosesItsMemoryAndNoSecondIsAboveTheLimit(t *testing.T) {
	t.Parallel()
	const cursor = "{n:conn_1}:tat"
	pause := func(d time.Duration) { <-time.After(d) }
	for _, c := range []struct {
		name   string
		outage time.Duration
		happen func(s *redistest.Server, p *proxy)
	}{
		{"nothing", 0, func(*redistest.Server, *proxy) {}},
		{"emptied twice", 300 * time.Millisecond, func(s *redistest.Server, _ *proxy) {
			s.Do("FLUSHALL")
			pause(300 * time.Millisecond)
			s.Do("FLUSHALL")
		}},
		{"emptied four times", 600 * time.Millisecond, func(s *redistest.Server, _ *proxy) { // the leases in hand are handed out again
			for range 4 {
				s.Do("FLUSHALL")
				pause(150 * time.Millisecond)
			}
		}},
		{"killed and back empty after half a second", 500 * time.Millisecond, func(s *redistest.Server, _ *proxy) {
			s.Kill()
			pause(500 * time.Millisecond)
			s.Restart()
		}},
		{"restarted at once", 0, func(s *redistest.Server, _ *proxy) { s.Restart() }},
		{"rolled back a second", 0, func(s *redistest.Server, _ *proxy) {
			old := s.Do("GET", cursor)
			pause(time.Second)
			s.Do("SET", cursor, old)
		}},
		{"killed and back with the state of a second ago", 0, func(s *redistest.Server, _ *proxy) {
			old := s.Do("GET", cursor)
			pause(time.Second)
			s.Restart()
			s.Do("SET", cursor, old)
		}},
		{"a cursor an hour ahead", 0, func(s *redistest.Server, _ *proxy) {
			micros, err := strconv.ParseFloat(s.Do("GET", cursor), 64)
			if err != nil {
				t.Error(err)
			}
			s.Do("SET", cursor, fmt.Sprintf("%.3f", micros+3600e6))
		}},
		{"every reply 300 ms late for a second", time.Second, func(_ *redistest.Server, p *proxy) {
			p.delay.Store(int64(300 * time.Millisecond))
			pause(time.Second)
			p.delay.Store(0)
		}},
		{"every reply 100 ms late for a second", 0, func(_ *redistest.Server, p *proxy) {
			p.delay.Store(int64(100 * time.Millisecond))
			pause(time.Second)
			p.delay.Store(0)
		}},
		{"every connection cut", 0, func(_ *redistest.Server, p *proxy) { p.cut() }},
	} {
		for _, limit := range []float64{80, 1000} {
			t.Run(fmt.Sprintf("%s/%.0f", c.name, limit), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t)
				p := newProxy(t, server.Addr)
				stop := throttletest.Watch()
				sent := incident(t, "redis://"+p.addr, limit, 4*time.Second, func() { c.happen(server, p) })
				worst, silence := throttletest.WorstSecond(sent), throttletest.LongestSilence(sent)
				t.Logf("%d sent, worst second %d, longest silence %v", len(sent), worst, silence.Round(time.Millisecond))
				if float64(worst) > limit {
					t.Errorf("%d messages in one second, want at most %v", worst, limit)
				}
				most, overslept := c.outage+time.Second, stop()
				if len(sent) == 0 {
					silence = long(4 * time.Second)
				} else {
					silence = max(silence, time.Since(sent[len(sent)-1]))
				}
				if silence > most {
					if overslept > throttletest.Busy {
						t.Logf("the limit held; the machine was too busy (overslept by %v) to test a silence of %v", overslept, silence)
						return
					}
					t.Errorf("silent for %v, want at most %v", silence, most)
				}
			})
		}
	}
}

// A process that was idle while Redis was replaced sees no error, only a new connection. Its first
// lease must be guarded nevertheless.
func TestRedisReplacedWhileIdleIsNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := newProxy(t, server.Addr)
	idle, busy := connect(t, "redis://"+p.addr), connect(t, "redis://"+p.addr)
	lease(t, idle, "conn_1", 80, 1)
	old := server.Do("GET", "{n:conn_1}:tat")
	<-time.After(500 * time.Millisecond)
	ahead := lease(t, busy, "conn_1", 80, 100) // a full horizon in another's hands
	server.Restart()
	server.Do("SET", "{n:conn_1}:tat", old)
	p.cut()
	got := lease(t, idle, "conn_1", 80, 1)
	if end := ahead.At(ahead.N - 1); !got.First.After(end) {
		t.Errorf("a slot at %v, want one after %v: another process holds slots until then", got.First, end)
	}
}

// A process that starts just after Redis was emptied remembers nothing. It must not take a missing
// cursor for a full bucket.
func TestRedisEmptiedGivesANewcomerNothingTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ahead := lease(t, connect(t, server.URL(0)), "conn_1", 80, 100)
	server.Do("FLUSHALL")
	got := lease(t, connect(t, server.URL(0)), "conn_1", 80, 1)
	if end := ahead.At(ahead.N - 1); !got.First.After(end) {
		t.Errorf("a slot at %v, want one after %v, the last of another process", got.First, end)
	}
}

// proxy stands between limiter and server: it delays replies and cuts connections.
type proxy struct {
	addr  string
	delay atomic.Int64 // nanoseconds, per reply

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: listener.Addr().String(), conns: make(map[net.Conn]bool)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				in.Close()
				continue
			}
			p.track(in, true)
			p.track(out, true)
			wg.Go(func() { p.copy(out, in, false) })
			wg.Go(func() { p.copy(in, out, true) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

// copy forwards until either end closes, and then closes both.
func (p *proxy) copy(to, from net.Conn, reply bool) {
	defer p.track(from, false)
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if d := time.Duration(p.delay.Load()); reply && d > 0 {
			<-time.After(d)
		}
		if _, err := to.Write(buffer[:n]); err != nil && err != io.EOF {
			return
		}
	}
}

func (p *proxy) track(c net.Conn, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
	}
}

// cut closes every connection, and returns when they are closed: a Close beside another one does
// not wait for it.
func (p *proxy) cut() {
	p.mu.Lock()
	old := maps.Clone(p.conns)
	p.mu.Unlock()
	for c := range old {
		c.Close()
	}
	for left := true; left; {
		p.mu.Lock()
		left = slices.ContainsFunc(slices.Collect(maps.Keys(old)), func(c net.Conn) bool { return p.conns[c] })
		p.mu.Unlock()
		if left {
			<-time.After(time.Millisecond)
		}
	}
}
