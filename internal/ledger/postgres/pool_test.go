//go:build unix

package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// A server that is away is asked again after 25 ms, then after twice as long each time, up to 1.6 s.
func TestAServerThatIsAwayIsAskedSeldom(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig("postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=5")
	if err != nil {
		t.Fatalf("parsing: %v; want no error", err)
	}
	p := newPool("test", config, time.Second, nil)
	var away *awayError
	for n, pause := range []time.Duration{25, 50, 100, 200, 400, 800, 1600, 1600} {
		pause *= time.Millisecond
		p.next = time.Now() // the pause before is over
		before := time.Now()
		_, err := p.acquire(t.Context())
		if err == nil || errors.As(err, &away) {
			t.Fatalf("failure %d: %v; want an error of the connection itself", n+1, err)
		}
		if least, most := time.Until(p.next), p.next.Sub(before); most < pause/2 || least > pause {
			t.Errorf("failure %d: a pause of %v to %v; want between %v and %v", n+1, least, most, pause/2, pause)
		}
		p.next = time.Now().Add(time.Hour)
		if _, again := p.acquire(t.Context()); !errors.As(again, &away) || !errors.Is(again, err) {
			t.Errorf("within the pause: %v; want an awayError of %v", again, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	p.next, p.fails = time.Time{}, 3
	if _, err := p.take(cancelled); !errors.Is(err, context.Canceled) || p.fails != 3 {
		t.Errorf("cancelled: %v, %d failures; want context.Canceled, and 3 as before", err, p.fails)
	}
	p.close()
	p.next = time.Now().Add(time.Hour)
	if _, err := p.take(t.Context()); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("taken when closed: %v; want errClosed", err)
	}
}

// A connection is used again until its life is over: 30 minutes and up to a quarter more.
func TestAConnectionIsUsedUntilItsLifeIsOver(t *testing.T) {
	t.Parallel()
	p := openShared(t, ledger.Options{}).reports
	acquire := func() *conn {
		t.Helper()
		c, err := p.acquire(t.Context())
		if err != nil {
			t.Fatalf("acquiring: %v; want no error", err)
		}
		return c
	}
	p.forget()
	first := acquire()
	if lasts := time.Until(first.dies); lasts < 29*time.Minute || lasts > 38*time.Minute {
		t.Errorf("a connection lasts %v; want 30 to 37.5 minutes", lasts)
	}
	p.release(first)
	if again := acquire(); again != first {
		t.Errorf("another connection %p; want the idle one, %p", again, first)
	}
	first.dies = time.Now()
	p.release(first)
	second := acquire()
	if second == first || !first.IsClosed() {
		t.Errorf("the same connection: %v, closed: %v; want another one, and the first closed", second == first, first.IsClosed())
	}
	p.release(second)
}
