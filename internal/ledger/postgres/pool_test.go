//go:build unix

package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/jackc/pgx/v5"
)

// After a failure the pool pauses for 25 ms, then twice as long each time, up to 1.6 s.
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
		p.next = time.Now() // the last pause is over
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
		t.Errorf("taken when closed: %v; want ErrClosed", err)
	}
}

// A connection is used for 30 minutes and up to a quarter more.
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
	if lasts := time.Until(first.expires); lasts < 29*time.Minute || lasts > 38*time.Minute {
		t.Errorf("a connection lasts %v; want 30 to 37.5 minutes", lasts)
	}
	p.release(first)
	if again := acquire(); again != first {
		t.Errorf("another connection %p; want the idle one, %p", again, first)
	}
	first.expires = time.Now()
	p.release(first)
	second := acquire()
	if second == first || !first.IsClosed() {
		t.Errorf("the same connection: %v, closed: %v; want another one, and the first closed", second == first, first.IsClosed())
	}
	p.release(second)
}

func TestReportsMayTakeLongerThanWhatSendingWaitsFor(t *testing.T) {
	l := openShared(t, ledger.Options{})
	if l.sender.within != callTime || l.hooks.within != callTime || l.reports.within != slowTime {
		t.Errorf("sender %s, hooks %s and reports %s; want %s, %s and %s",
			l.sender.within, l.hooks.within, l.reports.within, callTime, callTime, slowTime)
	}
}

// idle gives a pool n idle connections.
func idle(t *testing.T, p *pool, n int) {
	t.Helper()
	var all []*conn
	for range n {
		c, err := p.acquire(t.Context())
		if err != nil {
			t.Fatalf("connecting: %v; want no error", err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		p.release(c)
	}
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
	config := openShared(t, ledger.Options{}).sender.config.Copy()
	var begun sync.WaitGroup
	var ended atomic.Int64
	begun.Add(3)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return slowEnd{c, &begun, &ended}, err
	}
	p := newPool("test", config, time.Second, nil)
	idle(t, p, 3)
	p.forget()
	if got := ended.Load(); got != 3 {
		t.Errorf("%d connections have ended; want 3", got)
	}
	p.close()
}

func TestARestartedServerIsSentFromWithoutACallFailing(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 400)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	for from := int64(0); from < 400; from += 40 {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: from + 40}})
		if err != nil || g[0].To != from+40 {
			t.Fatalf("got %+v, %v; want no error, To %+v", g, err, from+40)
		}
		if err := s.Restart(); err != nil { // this breaks all connections
			t.Fatal(err)
		}
		if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, from+40)); err != nil {
			t.Fatal(err)
		}
		a, err := l.Apply(t.Context(), statusOfMessage(ledgertest.MessageID(r.No, from), campaign.Sent))
		if err != nil || a.Matched != 1 {
			t.Fatalf("got %+v, %v; want no error, Matched 1", a, err)
		}
	}
	if p, err := l.Park(t.Context(), lease, time.Time{}, ledgertest.After(time.Minute)); err != nil || !p.Done {
		t.Errorf("got %+v %v; want no error, Done", p, err)
	}
	if ps, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
		t.Errorf("got %+v %v; want no error, none", ps, err)
	}
}

func TestAServerThatIsAwayFailsCallsSoon(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	ledgertest.Load(t, l, 1)
	s.Crash()
	began := time.Now()
	for range 20 { // a webhook must be answered 503 at once
		if _, err := l.Apply(t.Context(), statusOfMessage("x", campaign.Sent)); err == nil {
			t.Fatal("the call succeeded without a server, want an error")
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("20 calls took %s; want at most %+v", took, 10*time.Second)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		if _, err := l.Apply(t.Context(), statusOfMessage("x", campaign.Sent)); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestReportsDoNotKeepWebhooksWaiting(t *testing.T) {
	l := openShared(t, ledger.Options{})
	var taken []*conn
	for range poolSize {
		c, err := l.reports.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	if _, err := l.Apply(t.Context(), statusOfMessage("x", campaign.Sent)); err != nil {
		t.Error(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil {
		t.Error(err)
	}
	for _, c := range taken {
		l.reports.release(c)
	}
}
