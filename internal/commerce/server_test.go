package commerce

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/secret"
)

const (
	acme  = "01J0000000000000000000ACME"
	aKey  = "key-live-0123456789"
	token = "token-acme-0123456789"
)

// serving returns a client of a server with that handler.
func serving(t testing.TB, h http.HandlerFunc, o Options) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.BaseURL, o.Company = server.URL, acme
	if o.AccessToken.IsZero() {
		o.APIKey = secret.New(aKey)
	}
	if o.Rate == 0 {
		o.Rate = maxRate
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// roundTrip is a transport without a network, for tests in a bubble of synctest.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through returns a client over that transport.
func through(t testing.TB, f roundTrip, o Options) *Client {
	t.Helper()
	o.BaseURL, o.Company, o.APIKey, o.Transport = "https://shop.example", acme, secret.New(aKey), f
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// response is an answer with that status and body.
func response(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// fault returns err as an *Error.
func fault(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}
