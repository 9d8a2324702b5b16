package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a listener of connections from chosen addresses.
type queue struct{ conns chan net.Conn }

func (q *queue) Accept() (net.Conn, error) {
	c, ok := <-q.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (q *queue) Close() error   { return nil }
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection of an address.
type from struct {
	net.Conn
	address string
	closed  bool
}

func (f *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 1} }
func (f *from) Close() error         { f.closed = true; return nil }

// comes lets a connection come, and returns it as the server sees it; nil if it was closed at once.
func comes(t *testing.T, c *boundedListener, address string) (*from, net.Conn) {
	t.Helper()
	f := &from{address: address}
	g := &boundedConn{Conn: f, in: c, address: address, idle: true, since: time.Now()}
	if !c.admit(g) {
		return f, nil
	}
	c.note(g, http.StateNew)
	return f, g
}

// Strangers that keep all connections open, one after another from one address or from many, keep
// nobody else out: one of theirs is closed.
func TestIdleConnectionsYieldToOthers(t *testing.T) {
	c := newBoundedListener(&queue{}, 40*listenerShare)
	if c.most != 40 || c.each != 20 {
		t.Fatalf("got %d connections, %d of an address, want 40 and 20", c.most, c.each)
	}
	for n := range 700 {
		if _, conn := comes(t, c, fmt.Sprint("10.0.0.", n%7)); conn == nil {
			t.Fatalf("idle connection %d: got it closed, want the place of another", n)
		}
	}
	signed, conn := comes(t, c, "192.0.2.1")
	if conn == nil || len(c.open) != 40 {
		t.Fatalf("got %v among %d connections, want it among 40", conn, len(c.open))
	}
	c.note(conn, http.StateActive)
	for range 700 {
		comes(t, c, "10.0.0.1")
	}
	if signed.closed || c.of["10.0.0.1"] > 20 {
		t.Errorf("got the active connection closed %v, and %d of one address; want false and at most 20", signed.closed, c.of["10.0.0.1"])
	}
	if err := conn.Close(); err != nil || c.of["192.0.2.1"] != 0 {
		t.Errorf("got %v and %d connections of the address that left, want none", err, c.of["192.0.2.1"])
	}
}

// The connection that has waited longest since its last request leaves first, not the oldest one.
func TestAConnectionWaitsFromItsLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBoundedListener(&queue{}, 0)
		c.most, c.each = 2, 2
		oldest, conn := comes(t, c, "192.0.2.1")
		time.Sleep(time.Second)
		idle, _ := comes(t, c, "192.0.2.1")
		c.note(conn, http.StateActive)
		time.Sleep(time.Second)
		c.note(conn, http.StateIdle)
		if _, conn := comes(t, c, "192.0.2.1"); conn == nil || oldest.closed || !idle.closed {
			t.Errorf("got the connection that just had a request closed %t, the idle one %t; want the idle one alone", oldest.closed, idle.closed)
		}
	})
}

// One address whose requests are all under way does not get more than its share.
func TestOneAddressTakesNotAllConnections(t *testing.T) {
	c := newBoundedListener(&queue{}, 40*listenerShare)
	for n := range 30 {
		_, conn := comes(t, c, "10.0.0.1")
		if (conn != nil) != (n < 20) {
			t.Fatalf("connection %d: got %v, want the first 20", n, conn)
		}
		if conn != nil {
			c.note(conn, http.StateActive)
		}
	}
	if _, conn := comes(t, c, "192.0.2.1"); conn == nil {
		t.Error("got another address refused, want it served")
	}
}

// The connections of both listeners leave most descriptors to the ledger and to sending.
func TestAListenerKeepsDescriptorsFree(t *testing.T) {
	for files, want := range map[int]int{1024: 256, 64: leastConnections, 1 << 20: mostConnections} {
		if got := newBoundedListener(&queue{}, files).most; got != want {
			t.Errorf("%d descriptors: got %d connections, want %d", files, got, want)
		}
	}
	if n := descriptors(); n < 64 {
		t.Errorf("got %d descriptors, want those of the process", n)
	}
	q := &queue{make(chan net.Conn, 3)}
	c := newBoundedListener(q, 0)
	c.most, c.each = 1, 1
	first, second := &from{address: "10.0.0.1"}, &from{address: "10.0.0.1"}
	q.conns <- first
	g, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.note(g, http.StateActive)
	q.conns <- second
	close(q.conns)
	if _, err := c.Accept(); !errors.Is(err, net.ErrClosed) || !second.closed || first.closed {
		t.Errorf("got %v, the first closed %v, the second %v; want the second alone closed", err, first.closed, second.closed)
	}
}
