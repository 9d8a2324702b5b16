package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaignd/throttle/throttletest"
)

// opened returns a listener that answers with h until end is called. ended gets the result of
// serve.
func opened(t *testing.T, h http.Handler, budget time.Duration) (l *listener, end func(), ended <-chan error) {
	t.Helper()
	l, err := bind(t.Context(), "listen.public", "127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.serve(ctx, budget) }()
	t.Cleanup(stop)
	return l, stop, done
}

// A client may open a connection ahead of need. The end does not wait for its first request,
// because the client repeats the request on another connection (RFC 9112, section 9.3.1).
func TestTheEndWaitsForNoUnusedConnection(t *testing.T) {
	t.Parallel()
	l, end, ended := opened(t, http.HandlerFunc(healthz), 5*time.Second)
	unused, err := net.Dial("tcp", l.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer unused.Close()
	// The answer to a later connection shows that the unused one is accepted.
	if res, err := http.Get(l.url() + "/healthz"); err != nil || res.Body.Close() != nil {
		t.Fatalf("GET /healthz = %v, want an answer", err)
	}
	began, watched := time.Now(), throttletest.Watch()
	end()
	if err := <-ended; err != nil {
		t.Errorf("serve = %v, want nil", err)
	}
	throttletest.Soon(t, fmt.Sprintf("the end, whose grace is %v,", unusedGrace), time.Since(began), 3*time.Second, watched())
}

func TestEachListenerServesItsPathsOnly(t *testing.T) {
	taken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	outside := public(publicRoute{"/hooks", taken}, publicRoute{"/events", taken})
	away := errors.New("the ledger is away")
	inside := func(note string, err error) http.Handler {
		return admin(taken, nil, nil, func() (string, error) { return note, err })
	}
	for _, tt := range []struct {
		name, method, path string
		h                  http.Handler
		code               int
		body               string
	}{
		{"webhooks", "POST", "/hooks", outside, 202, ""},
		{"events of the platform", "POST", "/events", outside, 202, ""},
		{"public health", "GET", "/healthz", outside, 200, "ok\n"},
		{"public health takes no POST", "POST", "/healthz", outside, 405, "Method Not Allowed\n"},
		{"readiness is inside", "GET", "/readyz", outside, 404, "404 page not found\n"},
		{"metrics are inside", "GET", "/metrics", outside, 404, "404 page not found\n"},
		{"health", "GET", "/healthz", inside("", away), 200, "ok\n"},
		{"ready", "GET", "/readyz", inside("", nil), 200, "ok\n"},
		{"ready with a note", "GET", "/readyz", inside("nothing is sent", nil), 200, "ok\nnothing is sent\n"},
		{"not ready", "GET", "/readyz", inside("a note", away), 503, "the ledger is away\n"},
		{"metrics", "GET", "/metrics", inside("", nil), 202, ""},
		{"webhooks are outside", "POST", "/hooks", inside("", nil), 404, "404 page not found\n"},
	} {
		w := httptest.NewRecorder()
		tt.h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.code || w.Body.String() != tt.body {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, w.Code, w.Body, tt.code, tt.body)
		}
		if kind := w.Header().Get("Content-Type"); tt.code == 200 && kind != "text/plain; charset=utf-8" {
			t.Errorf("%s: content type %q, want text/plain; charset=utf-8", tt.name, kind)
		}
	}
}

func TestAListenerBoundsTimeAndHeaderOfAClient(t *testing.T) {
	l, err := bind(t.Context(), "listen.admin", "127.0.0.1:0", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer l.ln.Close()
	got := fmt.Sprint(l.srv.ReadHeaderTimeout, l.srv.ReadTimeout, l.srv.WriteTimeout, l.srv.IdleTimeout, l.srv.MaxHeaderBytes)
	if want := "5s 15s 30s 2m0s 65536"; got != want {
		t.Errorf("header, request, answer, idle and header bytes: got %s, want %s", got, want)
	}
	_, err = bind(t.Context(), "listen.public", l.ln.Addr().String(), nil)
	head, remedy := "cannot listen on "+l.ln.Addr().String()+" (listen.public): ", "; choose another address there, or stop what uses it"
	if got := errorText(err); !strings.HasPrefix(got, head) || !strings.HasSuffix(got, remedy) {
		t.Errorf("a port in use: got %q, want %q and %q", got, head, remedy)
	}
}

func TestAWildcardIsReachedOverLoopback(t *testing.T) {
	for _, tt := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4zero, Port: 80}, "127.0.0.1:80"}, {&net.TCPAddr{IP: net.IPv6zero, Port: 81}, "127.0.0.1:81"},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}, "10.0.0.1:80"}, {&net.UnixAddr{Name: "/s", Net: "unix"}, "/s"},
	} {
		if got := reachable(tt.addr); got != tt.want {
			t.Errorf("reachable(%v) = %q, want %q", tt.addr, got, tt.want)
		}
	}
}

// A running request is answered at the end. A request that takes longer than the budget is cut,
// which is no error.
func TestTheEndAnswersRunningRequests(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget time.Duration
		answer bool
	}{{"within the budget", 10 * time.Second, true}, {"beyond it", 50 * time.Millisecond, false}} {
		arrived, release := make(chan struct{}), make(chan struct{})
		l, end, ended := opened(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(arrived)
			<-release
		}), tt.budget)
		answered := make(chan error, 1)
		go func() {
			res, err := http.Get(l.url())
			if err == nil {
				err = res.Body.Close()
			}
			answered <- err
		}()
		<-arrived
		end()
		if tt.answer {
			close(release)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: serve = %v, want nil", tt.name, err)
		}
		if err := <-answered; (err == nil) != tt.answer {
			t.Errorf("%s: the request got the error %v, want an answer: %v", tt.name, err, tt.answer)
		}
		if !tt.answer {
			close(release)
		}
	}
}

func TestAListenerThatFailsNamesItself(t *testing.T) {
	l, _, ended := opened(t, http.NotFoundHandler(), time.Second)
	if err := l.ln.Close(); err != nil {
		t.Fatal(err)
	}
	if got := errorText(<-ended); !strings.HasPrefix(got, "listen.public: ") {
		t.Errorf("serve = %q, want it to name listen.public", got)
	}
}
