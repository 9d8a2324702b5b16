package messaging

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// taker takes what is written to it.
type taker struct {
	net.Conn
	took bytes.Buffer
}

func (c *taker) Write(p []byte) (int, error) { return c.took.Write(p) }

// The posts of a killed process are known only if the log is written before the socket.
func TestBeforeComesBeforeTheFirstByte(t *testing.T) {
	conn, calls := &taker{}, 0
	w := &wire{Conn: conn}
	for n := 1; n <= 2; n++ { // two requests on one connection
		w.arm(func() error {
			if calls++; conn.took.Len() != (n-1)*len("POST body") {
				t.Errorf("request %d: %d bytes were written before it, want %d", n, conn.took.Len(), (n-1)*len("POST body"))
			}
			return nil
		})
		for _, part := range []string{"POST", " body"} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatalf("writing: %v, want no error", err)
			}
		}
		if calls != n {
			t.Errorf("got %d calls for %d requests, want %d", calls, n, n)
		}
		w.state.Store(wireFree) // the answer came
	}
	w.arm(nil)
	if _, err := w.Write([]byte("GET")); err != nil || calls != 2 {
		t.Errorf("a request without Before: %v, %d calls; want no error, 2", err, calls)
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
		c, err := New(Options{BaseURL: server.URL, APIKey: NewSecret("key"), AllowHTTP: true, Transport: rt})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m := *hello
		m.Before = func() error { notes.Add(1); return errNotNoted }
		requests.Store(0)
		notes.Store(0)
		_, err = c.Send(t.Context(), &m)
		var e *Error
		if !errors.As(err, &e) || e.Proof != NotSent || e.Action != RetryLater || !errors.Is(err, errNotNoted) {
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
