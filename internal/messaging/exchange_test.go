package messaging

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// exchangeWith returns an Exchange with a server, with 3 messages under way at once.
func exchangeWith(t *testing.T, address string) *Exchange {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	x := NewExchange(ExchangeOptions{Base: base, Timeout: 10 * time.Second, MaxInFlight: 3, IdleTimeout: time.Minute})
	t.Cleanup(x.Close)
	return x
}

// A late write ends as late, although the transport tells only of a broken connection.
func TestALateWriteIsToldAsLate(t *testing.T) {
	var requests atomic.Int64
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	x := exchangeWith(t, s.URL)
	x.transport.(*http.Transport).TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	request, err := http.NewRequest(http.MethodPost, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	send := func(want int64) {
		t.Helper()
		if a, err := x.Send(t.Context(), request, []byte("{}"), &Message{}); err != nil || !a.Accepted() || requests.Load() != want {
			t.Fatalf("got %v, %v and %d requests, want an answer and %d", a.Status, err, requests.Load(), want)
		}
	}
	send(1)
	line, err := x.pool.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := request.Clone(t.Context())
	_, failure := x.roundTrip(t.Context(), req, line, []byte("{}"), &Message{Until: time.Now().Add(-time.Millisecond)})
	if !errors.Is(failure, ErrLate) || failure.Proof != NotSent || requests.Load() != 1 {
		t.Errorf("got %v and %d requests, want %v, not sent, and 1", failure, requests.Load(), ErrLate)
	}
	send(2)
}

// The pace of a number was measured with these values of the transport.
func TestTheTransportIsTunedForManyShortPosts(t *testing.T) {
	got := tuned(ExchangeOptions{Timeout: 10 * time.Second, IdleTimeout: 55 * time.Second})
	small := tuned(ExchangeOptions{Timeout: time.Second, IdleTimeout: time.Minute})
	for name, c := range map[string]struct{ got, want any }{
		"idle":                  {got.IdleConnTimeout, 55 * time.Second},
		"handshake":             {got.TLSHandshakeTimeout, 5 * time.Second},
		"TLS":                   {got.TLSClientConfig.MinVersion, uint16(0x0303)},
		"compression":           {got.DisableCompression, true},
		"HTTP/1":                {got.Protocols.HTTP1(), true},
		"HTTP/2":                {got.Protocols.HTTP2(), false},
		"in flight as asked":    {cap(exchangeWith(t, "https://service.example").pool.used), 3},
		"idle as asked":         {small.IdleConnTimeout, time.Minute},
		"handshake in its time": {small.TLSHandshakeTimeout, time.Second},
		"no proxy":              {got.Proxy == nil, true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
