package daemon

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

// opened is a listener that answers with h until end is called; ended gets what serve returned.
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

// A client may open a connection ahead of need (RFC 9110 section 9.1 lets it retry); the end does not wait for its request.
func TestTheEndWaitsForNoUnusedConnection(t *testing.T) {
	t.Parallel()
	l, end, ended := opened(t, http.HandlerFunc(healthz), 5*time.Second)
	unused, err := net.Dial("tcp", l.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer unused.Close()
	if res, err := http.Get(l.url() + "/healthz"); err != nil || res.Body.Close() != nil { // later than the other: that one is accepted now
		t.Fatalf("GET /healthz = %v, want an answer", err)
	}
	began := time.Now()
	end()
	if err := <-ended; err != nil {
		t.Errorf("serve = %v, want nil", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end took %v, want the time of unusedGrace (%v)", took, unusedGrace)
	}
}
