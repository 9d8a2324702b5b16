package service

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"campaignd/internal/messaging"
)

// taken counts the bytes that are written to a connection.
type taken struct {
	net.Conn
	bytes *atomic.Int64
}

func (c taken) Write(p []byte) (int, error) { c.bytes.Add(int64(len(p))); return c.Conn.Write(p) }

// The posts of a killed process are known only if the log is written before the socket.
func TestBeforeComesBeforeTheFirstByte(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, receiptText) }))
	defer server.Close()
	var bytes atomic.Int64
	var dialer net.Dialer
	c := testClient(t, server.URL, Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		return taken{conn, &bytes}, err
	}})
	var calls, written int64
	m := *hello
	m.Before = func() error {
		if calls++; bytes.Load() != written {
			t.Errorf("request %d: %d bytes were written before it, want %d", calls, bytes.Load(), written)
		}
		return nil
	}
	for n := int64(1); n <= 2; n++ { // two requests on one connection
		if _, err := c.Send(t.Context(), &m); err != nil || calls != n {
			t.Fatalf("request %d: %v and %d calls, want no error and %d", n, err, calls, n)
		}
		written = bytes.Load()
	}
}

var errNotNoted = errors.New("the log cannot be written")

func TestARequestThatIsNotNotedIsNotWritten(t *testing.T) {
	var requests, notes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, `{"success":true,"data":{"messageId":"wamid.1"}}`)
	}))
	defer server.Close()
	for name, rt := range map[string]http.RoundTripper{"our own": nil, "another": &http.Transport{}} {
		c, err := New(Options{BaseURL: server.URL, APIKey: messaging.NewSecret("key"), AllowHTTP: true, Transport: rt})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m := *hello
		m.Before = func() error { notes.Add(1); return errNotNoted }
		requests.Store(0)
		notes.Store(0)
		_, err = c.Send(t.Context(), &m)
		var e *messaging.Error
		if !errors.As(err, &e) || e.Proof != messaging.NotSent || e.Action != messaging.RetryLater || !errors.Is(err, errNotNoted) {
			t.Errorf("%s: %v; want %v, not sent", name, err, errNotNoted)
		}
		if requests.Load() != 0 || notes.Load() == 0 {
			t.Errorf("%s: %d requests and %d notes, want 0 and some", name, requests.Load(), notes.Load())
		}
		notes.Store(0)
		m.Before = func() error { notes.Add(1); return nil }
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := c.Send(t.Context(), &m); err != nil {
					t.Errorf("%s: %v, want no error", name, err)
				}
			})
		}
		all.Wait()
		if requests.Load() != 20 || notes.Load() != 20 {
			t.Errorf("%s: %d requests and %d notes, want 20 of both", name, requests.Load(), notes.Load())
		}
		if _, err := c.Numbers(t.Context()); err == nil || notes.Load() != 20 {
			t.Errorf("%s: a listing: %v and %d notes, want an error and 20", name, err, notes.Load())
		}
	}
}
