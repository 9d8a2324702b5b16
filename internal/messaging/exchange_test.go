package messaging

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptrace"
	"testing"
)

// A write on the first connection of a request counts, even if the request gets a second one. Below
// TLS the connection is a wire too. On a foreign connection the complete headers count as written.
func TestAWriteOnAnyConnectionCounts(t *testing.T) {
	ours := func() *wire {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		go io.Copy(io.Discard, far)
		return &wire{Conn: near}
	}
	for _, c := range []struct {
		name              string
		first, second     bool // a byte is written on it
		tls, foreign      bool // what the connection is
		headers           bool
		written, onOurOwn bool
	}{
		{name: "nothing", onOurOwn: true},
		{name: "on the first", first: true, written: true, onOurOwn: true},
		{name: "on the second", second: true, written: true, onOurOwn: true},
		{name: "nothing below TLS", tls: true, onOurOwn: true},
		{name: "below TLS", tls: true, second: true, written: true, onOurOwn: true},
		{name: "headers on our own", headers: true, onOurOwn: true}, // the state of the wire decides
		{name: "no headers on another's", foreign: true},
		{name: "headers on another's", foreign: true, headers: true, written: true},
	} {
		x, a, b := newExchange(), ours(), ours()
		x.trace.GotConn(httptrace.GotConnInfo{Conn: a})
		if c.first {
			a.Write([]byte("P"))
		}
		var second net.Conn = b
		switch {
		case c.tls:
			second = tls.Client(b, nil)
		case c.foreign:
			second = b.Conn
		}
		x.trace.GotConn(httptrace.GotConnInfo{Conn: second})
		if c.second {
			b.Write([]byte("P"))
		}
		if c.headers {
			x.trace.WroteHeaders()
		}
		if got := x.foreign.Load(); got == c.onOurOwn {
			t.Errorf("%s: another's connection = %t, want %t", c.name, got, !c.onOurOwn)
		}
		if got := x.written(); got != c.written {
			t.Errorf("%s: written = %t, want %t", c.name, got, c.written)
		}
		if _, err := a.Write([]byte("P")); (err == nil) != c.first {
			t.Errorf("%s: another write on the first: %v, want an error = %t", c.name, err, !c.first)
		}
	}
}
