//go:build unix

package connect

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/pgtest"

	"github.com/jackc/pgx/v5"
)

// configOf returns the configuration of a connection to a server of the test's own.
func configOf(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	s, err := pgtest.Start()
	pgtest.Require(t, err)
	t.Cleanup(s.Stop)
	config, err := pgx.ParseConfig(s.URL("postgres"))
	if err != nil {
		t.Fatalf("parsing: %v; want no error", err)
	}
	return config
}

// After a failure the pool pauses for 25 ms, then twice as long each time, up to 1.6 s.
func TestAServerThatIsAwayIsAskedSeldom(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig("postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=5")
	if err != nil {
		t.Fatalf("parsing: %v; want no error", err)
	}
	p := New("test", config, nil, 0, time.Second, nil)
	var away *awayError
	for n, pause := range []time.Duration{25, 50, 100, 200, 400, 800, 1600, 1600} {
		pause *= time.Millisecond
		p.next = time.Now() // the last pause is over
		before := time.Now()
		_, err := p.Acquire(t.Context())
		if err == nil || errors.As(err, &away) {
			t.Fatalf("failure %d: %v; want an error of the connection itself", n+1, err)
		}
		if least, most := time.Until(p.next), p.next.Sub(before); most < pause/2 || least > pause {
			t.Errorf("failure %d: a pause of %v to %v; want between %v and %v", n+1, least, most, pause/2, pause)
		}
		p.next = time.Now().Add(time.Hour)
		if _, again := p.Acquire(t.Context()); !errors.As(again, &away) || !errors.Is(again, err) {
			t.Errorf("within the pause: %v; want an awayError of %v", again, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	p.next, p.fails = time.Time{}, 3
	if _, err := p.take(cancelled); !errors.Is(err, context.Canceled) || p.fails != 3 {
		t.Errorf("cancelled: %v, %d failures; want context.Canceled, and 3 as before", err, p.fails)
	}
	p.Close()
	p.next = time.Now().Add(time.Hour)
	if _, err := p.take(t.Context()); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("taken when closed: %v; want ErrClosed", err)
	}
}

// A connection is used for 30 minutes and up to a quarter more.
func TestAConnectionIsUsedUntilItsLifeIsOver(t *testing.T) {
	t.Parallel()
	p := New("test", configOf(t), nil, 0, time.Second, nil)
	defer p.Close()
	acquire := func() *Conn {
		t.Helper()
		c, err := p.Acquire(t.Context())
		if err != nil {
			t.Fatalf("acquiring: %v; want no error", err)
		}
		return c
	}
	p.Forget()
	first := acquire()
	if lasts := time.Until(first.expires); lasts < 29*time.Minute || lasts > 38*time.Minute {
		t.Errorf("a connection lasts %v; want 30 to 37.5 minutes", lasts)
	}
	p.Release(first)
	if again := acquire(); again != first {
		t.Errorf("another connection %p; want the idle one, %p", again, first)
	}
	first.expires = time.Now()
	p.Release(first)
	second := acquire()
	if second == first || !first.IsClosed() {
		t.Errorf("the same connection: %v, closed: %v; want another one, and the first closed", second == first, first.IsClosed())
	}
	p.Release(second)
}

// slowEnd is a connection whose Terminate message waits until the others send theirs.
type slowEnd struct {
	net.Conn
	begun *sync.WaitGroup
	ended *atomic.Int64
}

func (c slowEnd) Write(p []byte) (int, error) {
	if p[0] == 'X' {
		c.begun.Done()
		c.begun.Wait()
		time.Sleep(20 * time.Millisecond)
		defer c.ended.Add(1)
	}
	return c.Conn.Write(p)
}

// Connections that are forgotten end at the same time, and have ended when forget returns: then
// the process may exit.
func TestForgottenConnectionsHaveEnded(t *testing.T) {
	t.Parallel()
	config := configOf(t)
	var begun sync.WaitGroup
	var ended atomic.Int64
	begun.Add(3)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return slowEnd{c, &begun, &ended}, err
	}
	p := New("test", config, nil, 0, time.Second, nil)
	var all []*Conn
	for range 3 {
		c, err := p.Acquire(t.Context())
		if err != nil {
			t.Fatalf("connecting: %v; want no error", err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		p.Release(c)
	}
	p.Forget()
	if got := ended.Load(); got != 3 {
		t.Errorf("%d connections have ended; want 3", got)
	}
	p.Close()
}
