package messaging

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// errBarred is what a connection answers to a write after its exchange was judged.
var errBarred = errors.New("messaging: the exchange is over")

// The states of a wire: what its present exchange has written.
const (
	wireFree    int32 = iota // handshake, or idle in the pool
	wireArmed                // given to an exchange that has written nothing
	wireWritten              // a write has begun
	wireBarred               // judged "nothing written": no write will ever begin
)

// wire is a connection that knows whether its exchange has begun to write. The
// state is set before the bytes leave, and bar closes it by compare-and-swap: when bar says that
// nothing was written, nothing ever will be, however late the transport's writer wakes up.
// httptrace alone cannot prove that: WroteHeaders fires when the headers are in a buffer.
type wire struct {
	net.Conn
	state atomic.Int32
}

func (w *wire) Write(p []byte) (int, error) {
	first := false
	if w.state.Load() != wireWritten {
		first = w.state.CompareAndSwap(wireArmed, wireWritten)
		if !first && w.state.Load() == wireBarred {
			return 0, errBarred
		}
	}
	n, err := w.Conn.Write(p)
	if first && n == 0 && err != nil {
		// The peer had closed before: the kernel took no byte. Closed for good, like bar.
		w.state.CompareAndSwap(wireWritten, wireBarred)
	}
	return n, err
}

// arm gives the wire to an exchange. A barred wire stays barred.
func (w *wire) arm() {
	for {
		s := w.state.Load()
		if s == wireBarred || w.state.CompareAndSwap(s, wireArmed) {
			return
		}
	}
}

// bar reports whether nothing was written, and keeps it so.
func (w *wire) bar() bool {
	return w.state.CompareAndSwap(wireArmed, wireBarred) || w.state.Load() == wireBarred
}

// wireDialer wraps what dial returns.
func wireDialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: c}, nil
	}
}

// exchange watches one request. It is reused after an answer, never after an error: a late
// hook of an abandoned request must not speak about the next.
type exchange struct {
	trace   httptrace.ClientTrace
	wire    *wire
	foreign atomic.Bool // a connection that is not ours was used: what it wrote is not known
	wrote   atomic.Bool // WroteHeaders, for those
}

func newExchange() *exchange {
	x := &exchange{}
	x.trace.GotConn = x.gotConn
	x.trace.WroteHeaders = x.wroteHeaders
	return x
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	if x.wire != nil && !x.wire.bar() {
		x.wrote.Store(true) // a second connection for one request: what the first wrote counts
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
	w.arm()
	x.wire = w
}

func (x *exchange) wroteHeaders() {
	if x.foreign.Load() {
		x.wrote.Store(true)
	}
}

// reset makes x ready for the next request, after an answer.
func (x *exchange) reset() {
	x.wire = nil
	x.foreign.Store(false)
	x.wrote.Store(false)
}

// written reports whether a byte of the request may have reached the wire. Called
// once, after the transport gave up. Without the complete headers no server can have accepted a
// message: the body's length and the key are among them.
func (x *exchange) written() bool {
	if x.wire != nil && !x.wire.bar() {
		return true
	}
	return x.wrote.Load()
}

// traced reports whether a transport is known to fire httptrace's hooks; of others only a
// failed dial proves that nothing was written.
func traced(rt http.RoundTripper) bool {
	_, ok := rt.(*http.Transport)
	return ok
}

// dialFailed reports whether err says that there never was a connection.
func dialFailed(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}
