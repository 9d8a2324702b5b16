//go:build unix

package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// breakingWire is a wire to the server that breaks at commits of intents, and counts its connections.
type breakingWire struct {
	net.Listener
	to    string
	ended sync.WaitGroup

	mu       sync.Mutex
	opened   int
	breaks   int   // commits that are still to break
	broken   []int // the connections that broke
	readBack []int // the connections that asked for a mark
	deaf     int   // questions for a mark that are still to break
}

func newBreakingWire(t *testing.T) *breakingWire {
	t.Helper()
	w := &breakingWire{to: server(t).Addr}
	w.Listener = relay(t, &w.ended, w.carry)
	return w
}

func (w *breakingWire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	w.opened++
	own, intends := w.opened, false
	w.mu.Unlock()
	w.ended.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	hear(client, func(kind byte, query string, message []byte) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case kind == 'E' && strings.HasPrefix(query, "UPDATE segment"):
			intends = true
		case kind == 'E' && strings.HasPrefix(query, "SELECT epoch, mark"):
			w.readBack = append(w.readBack, own)
			if w.deaf > 0 {
				w.deaf--
				return false
			}
		case kind == 'B' && query == "commit" && intends:
			if intends = false; w.breaks > 0 {
				w.breaks--
				w.broken = append(w.broken, own)
				return false
			}
		}
		_, err := server.Write(message)
		return err == nil
	})
}

// open opens a ledger through the wire, with two idle connections for sending.
func (w *breakingWire) open(t *testing.T) *Ledger {
	t.Helper()
	l := openAt(t, strings.Replace(migrated(t), w.to, w.Addr().String(), 1), ledger.Options{Sender: true})
	idle(t, l.sender, 2)
	return l
}

// idle opens n connections that then are not in use.
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

// A commit that surely did not happen is tried five times, and then given up with nothing granted.
func TestAnIntentIsTriedFiveTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		breaks, broken int
		want           error
	}{{4, 4, nil}, {5, 5, campaign.ErrUnknownCommit}, {100, 5, campaign.ErrUnknownCommit}} {
		w := newBreakingWire(t)
		l := w.open(t)
		r := ledgertest.Load(t, l, 100)
		lease := ledgertest.ClaimAll(t, l, r.No)[0]
		w.mu.Lock()
		w.breaks, w.broken = c.breaks, nil
		w.mu.Unlock()
		in := []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}
		_, err := l.Intend(t.Context(), in)
		w.mu.Lock()
		broken := len(w.broken)
		w.breaks = 0
		w.mu.Unlock()
		if !errors.Is(err, c.want) || broken != c.broken {
			t.Errorf("%d breaks: got %v after %d broken commits; want %v after %d", c.breaks, err, broken, c.want, c.broken)
		}
		if c.want == nil {
			continue
		}
		if g, err := l.Intend(t.Context(), in); err != nil || g[0].Fenced || g[0].To != 10 {
			t.Errorf("%d breaks, asked again: got %+v, %v; want it granted to 10", c.breaks, g, err)
		}
	}
}

// When a commit breaks, the idle connections are taken for as dead: the mark is read back over a new one.
func TestABrokenCommitIsReadBackOverANewConnection(t *testing.T) {
	t.Parallel()
	w := newBreakingWire(t)
	l := w.open(t)
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	w.mu.Lock()
	before := w.opened
	w.breaks, w.broken, w.readBack = 1, nil, nil
	w.mu.Unlock()
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}})
	if err != nil || g[0].To != 10 {
		t.Errorf("got %+v, %v; want it granted to 10", g, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.broken) != 1 || len(w.readBack) != 1 || slices.Min(w.readBack) <= before {
		t.Errorf("broke on connections %v, read back on %v; want one each, the second above %d", w.broken, w.readBack, before)
	}
}

// Whether a broken commit happened is asked until it is answered, each time over another connection.
func TestABrokenCommitIsReadBackUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	w := newBreakingWire(t)
	l := w.open(t)
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	w.mu.Lock()
	w.breaks, w.deaf, w.readBack = 1, 3, nil
	w.mu.Unlock()
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}})
	if err != nil || g[0].To != 10 {
		t.Errorf("got %+v, %v; want it granted to 10", g, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked := slices.Compact(slices.Clone(w.readBack)); len(w.readBack) != 4 || len(asked) != 4 {
		t.Errorf("asked over connections %v; want four", w.readBack)
	}
}

// A quarantine moves every mark: when the answer to its commit is lost, it is not done a second time.
func TestAQuarantineWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(migrated(t)), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	wire.cut.Store(answerLost)
	if n, err := l.Quarantine(t.Context(), 5, time.Now()); n != 0 || !errors.Is(err, campaign.ErrUnknownCommit) {
		t.Errorf("got %d, %v; want 0 and ErrUnknownCommit", n, err)
	}
	if wire.cut.Load() != passes {
		t.Error("the commit was not cut; want it cut")
	}
	s, err := l.SegmentStates(t.Context(), r.No)
	if err != nil || len(s) != 1 || s[0].Mark != 15 {
		t.Errorf("got segments %+v, %v; want one whose mark moved once, from 10 to 15", s, err)
	}
}

// slowEnd is a connection whose good-bye waits for those of the others.
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

// Connections that are forgotten end at the same time, and have ended when forget returns: the process may exit.
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

// What is known of a mark is kept until its segment is done: a parked one may still go back in time.
func TestAMarkIsRememberedUntilItsSegmentIsDone(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 10)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	park := func(done bool) {
		t.Helper()
		p, err := l.Park(t.Context(), lease, time.Time{}, time.Hour)
		if err != nil || p.Done != done {
			t.Fatalf("parked %+v, %v; want done %v", p, err, done)
		}
	}
	intend := func(from, to int64) {
		t.Helper()
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
		if err != nil || g[0].To != to {
			t.Fatalf("got %+v, %v; want it granted to %d", g, err, to)
		}
		if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	key := ledger.SegmentKey(r.No, lease.Index)
	intend(0, 6)
	park(false)
	if a, behind := l.marks.behind(key, 5); !behind || a.mark != 6 {
		t.Errorf("parked with four to send: mark %+v is remembered, want 6", a)
	}
	lease = ledgertest.ClaimAll(t, l, r.No)[0]
	intend(6, 10)
	park(true)
	if a, behind := l.marks.behind(key, 5); behind {
		t.Errorf("done: mark %+v is remembered, want none", a)
	}
}
