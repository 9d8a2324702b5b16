package messaging

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"campaignd/internal/mutant"
)

// errBarred is the error of a write on a connection whose exchange is over.
var errBarred = errors.New("messaging: the exchange is over")

// The states of a wire, by what its present exchange has written.
const (
	wireFree    int32 = iota // in the handshake, or idle in the pool
	wireArmed                // an exchange has the wire and has written nothing
	wireWritten              // a write has begun
	wireBarred               // the exchange ended with nothing written, and no write may begin
)

// wire is a connection that records whether its exchange has begun to write. It sets the state
// before the bytes leave, and bar closes the wire by compare-and-swap. If bar returns true, nothing
// was written and nothing will be, even if a goroutine of the transport tries to write later.
// httptrace alone cannot prove that: it calls WroteHeaders when the headers are in a buffer.
type wire struct {
	net.Conn
	state  atomic.Int32
	before func() error // of the present exchange: see Message.Before; set before the state is wireArmed
}

func (w *wire) Write(p []byte) (int, error) {
	first := false
	if w.state.Load() != wireWritten {
		first = w.state.CompareAndSwap(wireArmed, wireWritten)
		if !first && w.state.Load() == wireBarred {
			return 0, errBarred
		}
	}
	if first && w.before != nil && !mutant.On("wire_log_after_socket") {
		if err := w.before(); err != nil {
			w.state.CompareAndSwap(wireWritten, wireBarred)
			return 0, err
		}
	}
	n, err := w.Conn.Write(p)
	if first && w.before != nil && mutant.On("wire_log_after_socket") {
		mutant.Crash("wire_noted")
		_ = w.before()
	}
	if first && n == 0 && err != nil {
		// The peer had closed the connection, and the kernel took no byte. The wire is then barred.
		w.state.CompareAndSwap(wireWritten, wireBarred)
	}
	return n, err
}

// arm gives the wire to an exchange. A barred wire stays barred.
func (w *wire) arm(before func() error) {
	if w.state.Load() != wireBarred {
		w.before = before
	}
	for {
		s := w.state.Load()
		if s == wireBarred || w.state.CompareAndSwap(s, wireArmed) {
			return
		}
	}
}

// bar reports whether nothing was written, and then prevents every later write.
func (w *wire) bar() bool {
	return w.state.CompareAndSwap(wireArmed, wireBarred) || w.state.Load() == wireBarred
}

// dialFunc is the type of http.Transport.DialContext.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// wireDialer makes a wire of each connection that dial returns.
func wireDialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: c}, nil
	}
}

// exchange watches one request. It is used again after an answer, never after an error, because a
// late hook of an abandoned request must not change the next one.
type exchange struct {
	trace   httptrace.ClientTrace
	wire    *wire
	before  func() error
	foreign atomic.Bool // the request used a connection that is no wire
	wrote   atomic.Bool // a write was seen by a hook
}

func newExchange() *exchange {
	x := &exchange{}
	x.trace.GotConn = x.gotConn
	x.trace.WroteHeaders = x.wroteHeaders
	return x
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	if x.wire != nil && !x.wire.bar() {
		x.wrote.Store(true) // the request gets a second connection after a write on the first
	}
	c := info.Conn
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	w, ok := c.(*wire)
	if !ok {
		x.foreign.Store(true)
		return
	}
	w.arm(x.before)
	x.wire = w
}

func (x *exchange) wroteHeaders() {
	if x.foreign.Load() {
		x.wrote.Store(true)
	}
}

// reset prepares x for the next request, after an answer.
func (x *exchange) reset() {
	x.wire, x.before = nil, nil
	x.foreign.Store(false)
	x.wrote.Store(false)
}

// written reports whether a byte of the request may have left. It is called once, after the
// transport has given up. On a foreign connection complete headers count, because no server can
// accept a message without them: they have the key and the length of the body.
func (x *exchange) written() bool {
	if x.wire != nil && !x.wire.bar() {
		return true
	}
	return x.wrote.Load()
}

// traced reports whether a transport is known to call the hooks of httptrace. With any other
// transport only a failed dial proves that nothing was written.
func traced(rt http.RoundTripper) bool {
	_, ok := rt.(*http.Transport)
	return ok
}

// dialFailed reports whether err means that there was no connection.
func dialFailed(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}
