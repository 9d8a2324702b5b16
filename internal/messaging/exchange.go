package messaging

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/internal/mutant"
	"campaignd/internal/tracing"
)

// Exchange makes the HTTP exchanges of one client. It writes the request of a message at most once,
// follows no redirect, and knows of a failed exchange whether a byte of the request may have left
// (docs/protocol.md#posting). It is safe for concurrent use.
type Exchange struct {
	transport http.RoundTripper
	pool      *pool // of the connections for messages; nil: ExchangeOptions.Transport sends
	timeout   time.Duration
	buffers   sync.Pool // of *[]byte, for answers to messages
	heard     atomic.Pointer[heard]
}

// heard is the clock of the service in an answer, and when the answer came.
type heard struct{ date, at time.Time }

// ExchangeOptions configure an Exchange. Base, Timeout, MaxInFlight and IdleTimeout are required.
type ExchangeOptions struct {
	// Base has the scheme and the host.
	Base *url.URL
	// Timeout is the longest time of the exchange of a message, from the wait for a connection to the
	// last byte of the answer.
	Timeout time.Duration
	// MaxInFlight is the number of messages that are under way at once, and of connections that are
	// kept for them.
	MaxInFlight int
	// IdleTimeout closes a connection that was not used.
	IdleTimeout time.Duration
	// Dial makes the connections; default: a net.Dialer with a time-out of 5 s. Only of sockets and of
	// net.Pipe it is seen before a send that the peer has closed them.
	Dial dialFunc
	// Transport replaces the tuned transport and its connections, for tests. With it only a failed
	// dial proves that nothing was written.
	Transport http.RoundTripper
}

const (
	maxAnswer  = 64 << 10 // bytes of an answer to a send; the document shows answers below 1 KiB
	maxListing = 16 << 20 // bytes of a listing; 6,000 templates of 2 KiB are 12 MiB
)

// NewExchange returns an Exchange.
func NewExchange(o ExchangeOptions) *Exchange {
	x := &Exchange{transport: o.Transport, timeout: o.Timeout}
	if x.transport == nil {
		t := tuned(o)
		x.transport, x.pool = t, newPool(t, o.Base, o.MaxInFlight, o.IdleTimeout)
	}
	x.buffers.New = func() any { b := make([]byte, 0, 2048); return &b }
	return x
}

// tuned returns the transport. A pool keeps the connections that it makes for sends, and counts
// them; the transport keeps the few connections of other calls. It uses HTTP/1.1, where each
// request has a connection for itself, so that it can prove what was written
// (docs/protocol.md#posting). It uses no compression, and no proxy: the variables of the
// environment are not read, because a proxy may repeat requests.
func tuned(o ExchangeOptions) *http.Transport {
	if o.Dial == nil {
		dialer := &net.Dialer{Timeout: min(5*time.Second, o.Timeout), KeepAlive: 15 * time.Second}
		o.Dial = dialer.DialContext
	}
	t := &http.Transport{
		DialContext:         o.Dial,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: min(5*time.Second, o.Timeout),
		IdleConnTimeout:     o.IdleTimeout,
		DisableCompression:  true,
		Protocols:           new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// Close closes the idle connections. The Exchange can still be used.
func (x *Exchange) Close() {
	if x.pool != nil {
		x.pool.close()
	}
	if t, ok := x.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Warm makes a connection for messages if there is none, so that the next one need not make it. It
// blocks for at most ExchangeOptions.Timeout.
func (x *Exchange) Warm(ctx context.Context) error {
	if x.pool == nil {
		return nil
	}
	ctx, cancel := within(ctx, x.timeout)
	defer cancel()
	return x.pool.warm(ctx)
}

// Posting is the body of a request that is written once. It cannot be read a second time: without
// Request.GetBody and without an idempotency header, net/http never sends a POST twice
// (shouldRetryRequest in https://go.dev/src/net/http/transport.go). net/http knows this type to be
// in memory and writes headers and body together (isKnownInMemoryReader in
// https://go.dev/src/net/http/transfer.go): one system call and one packet a message.
func Posting(text []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) }

// Send posts the text of a message once, with the address and the header of request, and returns
// the answer, whatever its status. The caller gives its memory back with Release. m says what comes
// before the first byte. An error says what a failed exchange proves. Send blocks for at most
// ExchangeOptions.Timeout.
func (x *Exchange) Send(ctx context.Context, request *http.Request, text []byte, m *Message) (Answer, *Error) {
	ctx, cancel := within(ctx, x.timeout)
	defer cancel()
	req := request.WithContext(ctx)
	if x.pool == nil {
		req.Body, req.ContentLength = Posting(text), int64(len(text))
		req.Header = req.Header.Clone() // a foreign transport may change the shared header
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, transportError(ctx, err, false)
	}
	var line *conn
	if x.pool != nil {
		var err error
		if line, err = x.pool.take(ctx); err != nil {
			return Answer{}, transportError(ctx, err, false)
		}
	}
	began := time.Now()
	if err := m.leave(); err != nil {
		if line != nil {
			x.pool.put(line) // for the next message
		}
		return Answer{}, transportError(ctx, err, false)
	}
	if line != nil && time.Since(began) > lookAgain && !line.silent() {
		x.pool.discard(line)
		return Answer{}, transportError(ctx, io.EOF, false)
	}
	keep := func() bool { return true }
	if line != nil {
		keep = context.AfterFunc(ctx, line.interrupt)
	}
	resp, failure := x.roundTrip(ctx, req, line, text, m)
	if failure != nil {
		keep()
		return Answer{}, failure
	}
	mutant.Crash("answer_unread")
	a := Answer{Status: resp.StatusCode, Header: resp.Header, buffer: x.buffers.Get().(*[]byte)}
	a.Body, a.Err = read(resp.Body, (*a.buffer)[:0], maxAnswer)
	*a.buffer = a.Body
	if line == nil {
		resp.Body.Close()
	} else {
		if keep() && a.Err == nil {
			line.answered(resp)
		}
		x.pool.put(line)
	}
	return a, nil
}

// Release takes the memory of an answer to a message back. Its Body must not be read any more.
func (x *Exchange) Release(a *Answer) {
	if cap(*a.buffer) <= maxAnswer {
		x.buffers.Put(a.buffer)
	}
}

// Ask makes one exchange that sends no message, within d, and returns the whole answer, whatever
// its status. An error has the codes of Send. Its Proof is NotSent, because no message is sent.
func (x *Exchange) Ask(ctx context.Context, d time.Duration, req *http.Request) (Answer, *Error) {
	ctx, cancel := within(ctx, d)
	defer cancel()
	resp, err := x.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		e := transportError(ctx, err, !dialFailed(err))
		e.Proof, e.Action = NotSent, RetryLater
		return Answer{}, e
	}
	defer resp.Body.Close()
	x.hear(resp.Header)
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, a.Err = read(resp.Body, nil, maxListing)
	return a, nil
}

// hear notes the time of an answer.
func (x *Exchange) hear(h http.Header) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		x.heard.Store(&heard{date.Add(500 * time.Millisecond), time.Now()}) // whole seconds (RFC 9110, section 6.6.1)
	}
}

// Clock returns the time by the service's clock, from the last answer to Ask, or the first answer
// to a message, and the time since; false: there was no answer with a Date.
func (x *Exchange) Clock() (time.Time, bool) {
	h := x.heard.Load()
	if h == nil {
		return time.Time{}, false
	}
	return h.date.Add(time.Since(h.at)), true
}

// within gives ctx the deadline d from now, unless the deadline of ctx is earlier.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if at, ok := ctx.Deadline(); ok && time.Until(at) <= d {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// roundTrip makes one round trip of a message, and classifies its failure. Without a line the
// transport chooses a connection; then only a failed dial proves that nothing was written.
func (x *Exchange) roundTrip(ctx context.Context, req *http.Request, line *conn, text []byte, m *Message) (*http.Response, *Error) {
	span := tracing.Call(req)
	var resp *http.Response
	var err error
	if line != nil {
		line.wire.arm(m.Until)
		resp, err = line.post(req, text, m)
	} else {
		m.wrote()
		// RoundTrip instead of http.Client: it follows no redirect, keeps no cookie and copies nothing.
		resp, err = x.transport.RoundTrip(req)
	}
	if err == nil && x.heard.Load() == nil {
		x.hear(resp.Header)
	}
	if err == nil {
		span.Answered(resp.StatusCode)
		return resp, nil
	}
	span.Answered(0)
	written := !dialFailed(err)
	if line != nil {
		written = !line.wire.bar()
		if line.wire.wasLate() {
			err = ErrLate
		}
		x.pool.discard(line)
	}
	return nil, transportError(ctx, err, written)
}

// read reads the whole body, so that the connection can be used again. A body longer than limit
// bytes is cut, and the error is errTooLong.
func read(body io.Reader, b []byte, limit int) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := body.Read(b[len(b):min(cap(b), limit+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit: // checked before io.EOF: the last read may return both
			return b[:limit], errTooLong
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

var errTooLong = errors.New("the answer is longer than allowed")
