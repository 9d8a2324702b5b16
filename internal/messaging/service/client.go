package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
)

// Client calls one service with one key. It is safe for concurrent use.
type Client struct {
	exchange *messaging.Exchange
	reading  messaging.Reading
	base     url.URL
	keyed    atomic.Pointer[keyed]
	agent    string
	timeout  time.Duration
	routes   map[string]operations.Operation
	usage    usage
}

// keyed is what a Client has of its key.
type keyed struct {
	key  messaging.Secret
	send *http.Request // copied for each Send; all copies share its URL and header, which are only read
}

// checkKey is the fault of a key, without naming it.
func checkKey(key messaging.Secret) error {
	switch {
	case key.IsZero():
		return errors.New("api_key: missing; generate one in the service's dashboard under API keys")
	case !messaging.Visible(key.Reveal()):
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
		if !messaging.Doubtful(p.Status) || p.Code == "" {
			return nil, fmt.Errorf("proven_refusals[%d]: needs a status that means doubt (5xx, 408, 409, 499) and an error code", i)
		}
	}
	if err := o.Assumed.Validate(); err != nil {
		return nil, fmt.Errorf("assumed.%w", err)
	}
	o = o.withDefaults()
	c := &Client{
		exchange: messaging.NewExchange(messaging.ExchangeOptions{Base: base, Timeout: o.Timeout, MaxInFlight: o.MaxInFlight,
			IdleTimeout: o.IdleTimeout,
			Dial:        o.Dial, Transport: o.Transport}),
		reading: messaging.Reading{Proven: o.ProvenRefusals, Throttled: o.Assumed.Throttled, RetryAfter: o.Assumed.RetryAfter},
		base:    *base,
		agent:   o.UserAgent,
		timeout: o.Timeout,
	}
	if c.routes, err = newRoutes(o.Assumed.Paths); err != nil {
		return nil, fmt.Errorf("assumed.paths: %w", err)
	}
	return c, c.SetKey(o.APIKey)
}

// SetKey replaces the key for the requests that begin from now on.
func (c *Client) SetKey(key messaging.Secret) error {
	if err := checkKey(key); err != nil {
		return err
	}
	send := c.routes["messages"] // docs/service.md#operations
	k := &keyed{key: key, send: c.requestWith(context.Background(), key, send.Method, send.Path, "")}
	k.send.Header.Set("Content-Type", "application/json")
	c.keyed.Store(k)
	return nil
}

// String returns the name of the host. It never shows the key.
func (c *Client) String() string { return "messaging client of " + c.base.Host }

// GoString is String, so that %#v does not show the headers.
func (c *Client) GoString() string { return c.String() }

// Close closes the idle connections. The Client can still be used.
func (c *Client) Close() { c.exchange.Close() }

// Clock returns the time by the clock of the other side; false: it has not answered.
func (c *Client) Clock() (time.Time, bool) { return c.exchange.Clock() }

// Warm makes a connection for sends if there is none, so that the next Send need not make it. It
// blocks for at most Options.Timeout.
func (c *Client) Warm(ctx context.Context) error { return c.exchange.Warm(ctx) }

// request returns a request without a body. Its URL is the base with path and query.
func (c *Client) request(ctx context.Context, method, path, query string) *http.Request {
	return c.requestWith(ctx, c.keyed.Load().key, method, path, query)
}

func (c *Client) requestWith(ctx context.Context, key messaging.Secret, method, path, query string) *http.Request {
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

// Send posts one message once. It returns the receipt of the service, or an *Error that says what
// the exchange proves and what to do (docs/protocol.md#what-an-answer-proves). It never repeats the
// request and follows no redirect. It blocks for at most Options.Timeout. If ctx ends before the
// request is written, the message is proven not sent; after that it is in doubt. A message that is
// not written by Message.Until is proven not sent too, and the error wraps ErrLate.
func (c *Client) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	if e := messaging.Unsendable(m); e != nil {
		return messaging.Receipt{}, e
	}
	a, failure := c.exchange.Send(ctx, c.keyed.Load().send, appendMessage(make([]byte, 0, 512), m), m)
	if failure != nil {
		return messaging.Receipt{}, failure
	}
	receipt, failure := c.classify(&a)
	c.exchange.Release(&a)
	if failure != nil {
		failure.Blame(m)
		return messaging.Receipt{}, failure
	}
	return receipt, nil
}

// classify turns an answer to a send into a receipt or a failure.
func (c *Client) classify(a *messaging.Answer) (messaging.Receipt, *messaging.Error) {
	if !a.Accepted() {
		return messaging.Receipt{}, c.refused(a)
	}
	if a.Err != nil {
		return messaging.Receipt{}, a.NoID()
	}
	message, warning, ok := readReceipt(a.Body)
	if !ok {
		return messaging.Receipt{}, a.NoID()
	}
	return messaging.Receipt{MessageID: message, Warning: warning, RequestID: a.RequestID()}, nil
}

// refused classifies an answer outside 2xx.
func (c *Client) refused(a *messaging.Answer) *messaging.Error {
	return c.reading.Refusal(a, c.keyed.Load().key)
}
