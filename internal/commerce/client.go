package commerce

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls the platform for one company. It is safe for concurrent use; all calls share its
// rate.
type Client struct {
	o    Options
	base *url.URL
	pace *pace
}

// New checks the options and returns a Client. An error names the option.
func New(o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	return &Client{o: o, base: base, pace: newPace(o.Rate, o.Log)}, nil
}

// String returns the name of the host. It never shows the key.
func (c *Client) String() string { return "commerce client of " + c.base.Host }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// Close closes the idle connections. The Client can still be used.
func (c *Client) Close() {
	if t, ok := c.o.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Rate returns the present rate in requests per second: Options.Rate, or less after a 429.
func (c *Client) Rate() float64 { return c.pace.current() }

// call is one request.
type call struct {
	method string
	// route is the path as errors and logs show it, with {order} for an id.
	route string
	// path is the path itself, and query its parameters.
	path, query string
	contentType string
	body        []byte
	// scope says which headers name the company and the shop.
	scope scope
	// repeat permits to make the request again (docs/commerce.md#repetition).
	repeat bool
}

// of returns q for the record with an id, whose place in the route is {...}. Another text than an
// id is CodeNotFound without a request: it could lead to another route.
func (q call) of(id string) (call, error) {
	if id == "" || CheckID(id) != nil {
		return q, q.fault(CodeNotFound)
	}
	before, rest, _ := strings.Cut(q.route, "{")
	_, after, _ := strings.Cut(rest, "}")
	q.path = before + id + after
	return q, nil
}

// scope is a part of the platform with headers of its own (docs/commerce.md#authentication).
type scope uint8

const (
	storefront scope = iota + 1
	admin
	oauth // without the key
)

// The limits of repetition (docs/commerce.md#repetition).
const (
	maxTries     = 5
	maxThrottled = 2 * time.Minute  // of waits after 429 that use up no try
	maxBackoff   = 30 * time.Second // between two tries, unless Retry-After says more
	firstBackoff = 500 * time.Millisecond
	maxAnswer    = 8 << 20 // bytes
)

// do makes a request and decodes its answer into into. It repeats the request if that is permitted.
// The error is an *Error, or the error of ctx. An *Error wraps the error of ctx if ctx ended the
// repetition.
func (c *Client) do(ctx context.Context, q call, into any) error {
	tries, waits := 0, 0
	var throttled time.Duration
	var last *Error
	for {
		if err := c.pace.wait(ctx); err != nil {
			return last.endedBy(err)
		}
		began := time.Now()
		body, e := c.exchange(ctx, q)
		if ctx.Err() != nil && e != nil {
			return last.endedBy(ctx.Err())
		}
		if e == nil {
			c.pace.answered()
			return decode(q, body, into)
		}
		wait := e.Wait
		if wait == 0 {
			wait = min(firstBackoff<<waits, maxBackoff)
			waits = min(waits+1, 10)
		}
		if e.Code == CodeRateLimited {
			c.pace.throttled(began, wait)
		}
		if !q.repeat || !e.repeated() {
			return e
		}
		if e.Code == CodeRateLimited && throttled+wait <= maxThrottled {
			throttled += wait
		} else if tries++; tries >= maxTries || wait > maxThrottled {
			return e
		}
		last = e
		if err := sleep(ctx, wait); err != nil {
			return last.endedBy(err)
		}
	}
}

// exchange makes one round trip.
func (c *Client) exchange(ctx context.Context, q call) ([]byte, *Error) {
	inner, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := c.request(inner, q)
	if err != nil {
		return nil, q.fault(CodeInvalid)
	}
	// RoundTrip instead of http.Client: it follows no redirect.
	resp, err := c.o.Transport.RoundTrip(req)
	if err != nil {
		return nil, q.broken(inner, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := refused(resp.StatusCode, resp.Header, body)
		e.Route = q.method + " " + q.route
		return nil, e
	}
	switch {
	case err != nil:
		return nil, q.broken(inner, err)
	case len(body) > maxAnswer:
		return nil, q.fault(CodeTooLong)
	}
	return body, nil
}

// fault returns an error about q.
func (q call) fault(code Code) *Error { return &Error{Code: code, Route: q.method + " " + q.route} }

// broken returns the error of an exchange that the network ended.
func (q call) broken(ctx context.Context, err error) *Error {
	e := q.fault(CodeUnreachable)
	var slow interface{ Timeout() bool }
	if ctx.Err() != nil || errors.As(err, &slow) && slow.Timeout() {
		e.Code = CodeTimeOut
	}
	e.Err = cause(err)
	return e
}

// cause returns a fault of the network that is safe to show. Other errors of net/http quote what
// the platform sent, such as a header that cannot be parsed.
func cause(err error) error {
	var op *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &op):
		return op
	case errors.As(err, &name):
		return name
	case errors.As(err, &certificate):
		return certificate
	}
	for _, known := range []error{context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	return errors.New("what answers does not speak HTTP as it should")
}

// request returns the request with its headers (docs/commerce.md#authentication).
func (c *Client) request(ctx context.Context, q call) (*http.Request, error) {
	u := *c.base
	u.Path, u.RawPath, u.RawQuery = "", "", ""
	address := u.String() + q.path
	if q.query != "" {
		address += "?" + q.query
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, address, body)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("User-Agent", userAgent())
	h.Set("Accept", "application/json")
	if q.contentType != "" {
		h.Set("Content-Type", q.contentType)
	}
	if !q.repeat {
		req.GetBody = nil // net/http must not send the request again by itself
	}
	if q.scope == oauth {
		return req, nil
	}
	company, shop := "X-Company", "X-ShopId"
	if q.scope == admin {
		company, shop = c.o.Assumed.CompanyHeader, "X-Shop"
	}
	h.Set(company, c.o.Company)
	if c.o.Shop != "" {
		h.Set(shop, c.o.Shop)
	}
	switch {
	case !c.o.APIKey.IsZero():
		h.Set("X-Api-Key", c.o.APIKey.Reveal())
		h.Set("X-Company", c.o.Company)
		if c.o.Shop != "" {
			h.Set("X-Shop", c.o.Shop)
		}
	case !c.o.AccessToken.IsZero():
		h.Set("Authorization", "Bearer "+c.o.AccessToken.Reveal())
	}
	return req, nil
}

// decode reads an answer. The error tells the place of a fault and never the value there.
func decode(q call, body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	e := q.fault(CodeBadAnswer)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		e.Err = errors.New("at " + kind.Field) // the names of our own struct tags
	}
	return e
}
