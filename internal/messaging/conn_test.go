package messaging

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// A service closes connections that are idle. A request that is written into one would be a doubt.
// While it keeps them they are used again, also over TLS, where session tickets come in before the
// first answer.
func TestOnlyAConnectionThatIsOpenIsUsed(t *testing.T) {
	for _, idle := range []time.Duration{200 * time.Millisecond, time.Minute} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("idle for %v, TLS %t", idle, secure), func(t *testing.T) {
				t.Parallel()
				var made, closed atomic.Int64
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "{}")
				}))
				s.Config.IdleTimeout = idle
				s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
					switch state {
					case http.StateNew:
						made.Add(1)
					case http.StateClosed:
						closed.Add(1)
					}
				}
				if secure {
					s.StartTLS()
				} else {
					s.Start()
				}
				defer s.Close()
				base, err := url.Parse(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				x := NewExchange(ExchangeOptions{Base: base, Timeout: 10 * time.Second, MaxInFlight: 3, IdleTimeout: time.Minute})
				defer x.Close()
				if secure {
					x.transport.(*http.Transport).TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
				}
				request, err := http.NewRequest(http.MethodPost, s.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := x.Warm(t.Context()); err != nil {
					t.Fatal(err)
				}
				allClosed := func() error {
					for end := time.Now().Add(time.Minute); closed.Load() < made.Load(); time.Sleep(time.Millisecond) {
						if time.Now().After(end) {
							t.Error("a connection is still open after a minute without a request, want it closed")
							break
						}
					}
					return nil
				}
				const sends = 5
				for i := range sends {
					if i > 0 && idle < time.Second {
						_ = allClosed()
					} else {
						time.Sleep(min(5*idle, 100*time.Millisecond))
					}
					if a, failure := x.Send(t.Context(), request, []byte("{}"), &Message{}); failure != nil || !a.Accepted() {
						t.Errorf("send %d: got %d and %v, want 200", i, a.Status, failure)
					}
				}
				if idle < time.Second {
					a, failure := x.Send(t.Context(), request, []byte("{}"), &Message{Before: allClosed})
					if failure == nil || failure.Proof != NotSent || failure.Code != "not_connected" {
						t.Errorf("closed before the first byte: got %d and %v, want not sent, not_connected", a.Status, failure)
					}
				}
				want := int64(1)
				if idle < time.Second {
					want = sends // the server waits for the first request of a connection without end
				}
				if n := made.Load(); n != want {
					t.Errorf("got %d connections, want %d", n, want)
				}
			})
		}
	}
}
