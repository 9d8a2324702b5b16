package messaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/internal/mutant"
	"campaignd/internal/tracing"
)

// Client calls one service with one key. It is safe for concurrent use.
type Client struct {
	transport http.RoundTripper
	pool      *pool // of the connections for sends; nil: Options.Transport sends
	base      url.URL
	keyed     atomic.Pointer[keyed]
	agent     string
	timeout   time.Duration
	proven    []StatusCode
	assumed   Assumed

	buffers sync.Pool // of *[]byte, for answers
}

// keyed is what a Client has of its key.
type keyed struct {
	key  Secret
	send *http.Request // copied for each Send; all copies share its URL and header, which are only read
}

// checkKey is the fault of a key, without naming it.
func checkKey(key Secret) error {
	switch {
	case key.IsZero():
		return errors.New("api_key: missing; generate one in the service's dashboard under API keys")
	case !visible(key.Reveal()):
		return errors.New("api_key: holds a space, a line break or another character that no key has; was all of it copied?")
	}
	return nil
}

// New checks the options and returns a Client. An error names the option.
func New(o Options) (*Client, error) {
	base, err := checkBase(o.BaseURL, o.AllowHTTP)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	if err := checkKey(o.APIKey); err != nil {
		return nil, err
	}
	switch {
	case o.Timeout < 0:
		return nil, fmt.Errorf("timeout: %v is negative", o.Timeout)
	case o.MaxInFlight < 0:
		return nil, fmt.Errorf("max_in_flight: %d is negative", o.MaxInFlight)
	case strings.ContainsAny(o.UserAgent, "\r\n"):
		return nil, errors.New("user_agent: holds a line break")
	}
	for i, p := range o.ProvenRefusals {
		if !doubtful(p.Status) || p.Code == "" {
			return nil, fmt.Errorf("proven_refusals[%d]: needs a status that means doubt (5xx, 408, 409, 499) and an error code", i)
		}
	}
	if err := o.Assumed.Validate(); err != nil {
		return nil, fmt.Errorf("assumed.%w", err)
	}
	o = o.withDefaults()
	c := &Client{
		transport: o.Transport,
		base:      *base,
		agent:     o.UserAgent,
		timeout:   o.Timeout,
		proven:    o.ProvenRefusals,
		assumed:   o.Assumed.withDefaults(),
	}
	if c.transport == nil {
		t := tuned(o)
		c.transport, c.pool = t, newPool(t, base, o.MaxInFlight, o.IdleTimeout)
	}
	c.buffers.New = func() any { b := make([]byte, 0, 2048); return &b }
	return c, c.SetKey(o.APIKey)
}

// SetKey replaces the key for the requests that begin from now on.
func (c *Client) SetKey(key Secret) error {
	if err := checkKey(key); err != nil {
		return err
	}
	k := &keyed{key: key, send: c.requestWith(context.Background(), key, http.MethodPost, sendPath, "")}
	k.send.Header.Set("Content-Type", "application/json")
	c.keyed.Store(k)
	return nil
}

// sendPath is the path of sends (docs/service.md#operations).
const sendPath = "/api/v1/messages"

// String returns the name of the host. It never shows the key.
func (c *Client) String() string { return "messaging client of " + c.base.Host }

// GoString is String, so that %#v does not show the headers.
func (c *Client) GoString() string { return c.String() }

// Close closes the idle connections. The Client can still be used.
func (c *Client) Close() {
	if c.pool != nil {
		c.pool.close()
	}
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Warm makes a connection for sends if there is none, so that the next Send need not make it. It
// blocks for at most Options.Timeout.
func (c *Client) Warm(ctx context.Context) error {
	if c.pool == nil {
		return nil
	}
	ctx, cancel := c.within(ctx, c.timeout)
	defer cancel()
	return c.pool.warm(ctx)
}

// request returns a request without a body. Its URL is the base with path and query.
func (c *Client) request(ctx context.Context, method, path, query string) *http.Request {
	return c.requestWith(ctx, c.keyed.Load().key, method, path, query)
}

func (c *Client) requestWith(ctx context.Context, key Secret, method, path, query string) *http.Request {
	u := c.base
	u.Path, u.RawQuery = path, query
	r := &http.Request{
		Method: method, URL: &u, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Authorization": {"Bearer " + key.Reveal()},
			"User-Agent":    {c.agent},
			"Accept":        {"application/json"},
		},
	}
	return r.WithContext(ctx)
}

// posting is the body of a send. It cannot be read a second time: without Request.GetBody and
// without an idempotency header, net/http never sends a POST twice (shouldRetryRequest in
// https://go.dev/src/net/http/transport.go). net/http knows this type to be in memory and writes
// headers and body together (isKnownInMemoryReader in https://go.dev/src/net/http/transfer.go): one
// system call and one packet a message.
func posting(text []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(text)) }

// Send posts one message once. It returns the receipt of the service, or an *Error that says what
// the exchange proves and what to do (docs/protocol.md#what-an-answer-proves). It never repeats the
// request and follows no redirect. It blocks for at most Options.Timeout. If ctx ends before the
// request is written, the message is proven not sent; after that it is in doubt. A message that is
// not written by Message.Until is proven not sent too, and the error wraps ErrLate.
func (c *Client) Send(ctx context.Context, m *Message) (Receipt, error) {
	if !e164(m.To) {
		// Without + the platform puts the sender's own country code in front, and a stranger may get the
		// message (docs/service.md#phone-numbers).
		return Receipt{}, local(codeNotE164, nil)
	}
	text, err := appendMessage(make([]byte, 0, 512), m)
	if err != nil {
		return Receipt{}, local(codeUnencodable, err)
	}
	ctx, cancel := c.within(ctx, c.timeout)
	defer cancel()
	req := c.keyed.Load().send.WithContext(ctx)
	req.Body, req.ContentLength = posting(text), int64(len(text))
	if c.pool == nil {
		req.Header = req.Header.Clone() // a foreign transport may change the shared header
	}
	if err := ctx.Err(); err != nil {
		return Receipt{}, transportError(ctx, err, false)
	}
	var line *conn
	if c.pool != nil {
		if line, err = c.pool.take(ctx); err != nil {
			return Receipt{}, transportError(ctx, err, false)
		}
	}
	if err := m.leave(); err != nil {
		if line != nil {
			c.pool.put(line) // for the next message
		}
		return Receipt{}, transportError(ctx, err, false)
	}
	resp, failure := c.exchange(ctx, req, line, m)
	if failure != nil {
		return Receipt{}, failure
	}
	mutant.Crash("answer_unread")
	buf := c.buffers.Get().(*[]byte)
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = read(resp, (*buf)[:0], maxAnswer)
	*buf = a.body
	if line != nil {
		c.pool.put(line)
	}
	receipt, failure := c.classify(&a)
	if cap(*buf) <= maxAnswer {
		c.buffers.Put(buf)
	}
	if failure != nil {
		failure.blame(m)
		return Receipt{}, failure
	}
	return receipt, nil
}

// classify turns an answer to a send into a receipt or a failure.
func (c *Client) classify(a *answer) (Receipt, *Error) {
	id := requestID(a.header)
	if a.status < 200 || a.status > 299 {
		return Receipt{}, c.refused(a, id)
	}
	if a.err != nil {
		return Receipt{}, noID(a, id)
	}
	message, warning, ok := readReceipt(a.body)
	if !ok {
		return Receipt{}, noID(a, id)
	}
	return Receipt{MessageID: message, Warning: warning, RequestID: id}, nil
}

// within gives ctx the deadline d from now, unless the deadline of ctx is earlier.
func (c *Client) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if at, ok := ctx.Deadline(); ok && time.Until(at) <= d {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// exchange makes one round trip of a message, and classifies its failure. Without a line the
// transport chooses a connection; then only a failed dial proves that nothing was written.
func (c *Client) exchange(ctx context.Context, req *http.Request, line *conn, m *Message) (*http.Response, *Error) {
	// RoundTrip instead of http.Client: it follows no redirect, keeps no cookie and copies nothing.
	span := tracing.Call(req)
	way := c.transport
	if line != nil {
		line.wire.arm(m.Until)
		way = line
	}
	resp, err := way.RoundTrip(req)
	if err != nil {
		span.Answered(0)
	} else {
		span.Answered(resp.StatusCode)
	}
	if err == nil {
		return resp, nil
	}
	written := !dialFailed(err)
	if line != nil {
		written = !line.wire.bar()
		if line.wire.wasLate() {
			err = ErrLate
		}
		c.pool.discard(line)
	}
	return nil, transportError(ctx, err, written)
}

// read reads the whole body, so that the connection can be used again. A body longer than limit
// bytes is cut, and the error is errTooLong.
func read(resp *http.Response, b []byte, limit int) ([]byte, error) {
	defer resp.Body.Close()
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := resp.Body.Read(b[len(b):min(cap(b), limit+1)])
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

func local(code string, err error) *Error {
	r := ownRows[code]
	return &Error{Proof: NotSent, Action: r.Action, Hold: r.Hold, Code: code, Message: r.Sentence, Err: err}
}

// e164 reports whether to is + and 7 to 15 digits (https://www.itu.int/rec/T-REC-E.164).
func e164(to string) bool {
	return len(to) >= 8 && len(to) <= 16 && to[0] == '+' && to[1] != '0' && allDigits(to[1:])
}

func requestID(h http.Header) string {
	if v := h["X-Request-Id"]; len(v) > 0 {
		return token(v[0])
	}
	return ""
}
