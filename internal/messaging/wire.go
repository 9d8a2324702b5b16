package messaging

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// errBarred is the error of a write on a connection whose exchange is over.
var errBarred = errors.New("messaging: the exchange is over")

// ErrLate is wrapped by the error of a Send whose message was not written by Message.Until.
var ErrLate = errors.New("messaging: the message was not written in time")

// The states of a wire, by what its present exchange has written.
const (
	wireFree    int32 = iota // in the handshake, or idle in the pool
	wireArmed                // an exchange has the wire and has written nothing
	wireWritten              // a write has begun
	wireBarred               // the exchange ended with nothing written, and no write may begin
	wireLate                 // as wireBarred, because the first write came too late
)

// wire is a connection that records whether its exchange has begun to write. It sets the state
// before the bytes leave, and bar closes the wire by compare-and-swap. If bar returns true, nothing
// was written and nothing will be, even if a goroutine of the transport tries to write later.
// httptrace cannot prove that: it calls WroteHeaders when the headers are in a buffer.
type wire struct {
	net.Conn
	state atomic.Int32
	until time.Time                          // of the present exchange: see Message.Until; set before the state is wireArmed
	look  func() (something bool, err error) // of pending, for the one exchange that has the wire; nil: not made yet
}

func (w *wire) Write(p []byte) (int, error) {
	first := false
	switch w.state.Load() {
	case wireArmed:
		if late(w.until) {
			w.state.CompareAndSwap(wireArmed, wireLate)
			return 0, ErrLate
		}
		if first = w.state.CompareAndSwap(wireArmed, wireWritten); !first {
			return 0, errBarred
		}
	case wireBarred, wireLate:
		return 0, errBarred
	}
	n, err := w.Conn.Write(p)
	if first && n == 0 && err != nil {
		// The peer had closed the connection, and the kernel took no byte. The wire is then barred.
		w.state.CompareAndSwap(wireWritten, wireBarred)
	}
	return n, err
}

// late reports whether it is too late to write what must be written until then.
func late(until time.Time) bool {
	return !until.IsZero() && time.Now().After(until)
}

// arm gives the wire to an exchange, which writes its first byte until then or not at all; zero: at
// any time. A barred wire stays barred.
func (w *wire) arm(until time.Time) {
	if s := w.state.Load(); s == wireBarred || s == wireLate {
		return
	}
	w.until = until
	w.state.Store(wireArmed)
}

// bar reports whether nothing was written, and then prevents every later write.
func (w *wire) bar() bool {
	return w.state.CompareAndSwap(wireArmed, wireBarred) || w.state.Load() >= wireBarred
}

// wasLate reports whether the exchange wrote nothing because it came too late.
func (w *wire) wasLate() bool { return w.state.Load() == wireLate }

// dialFunc is the type of Options.Dial.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialFailed reports whether err means that there was no connection.
func dialFailed(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}
