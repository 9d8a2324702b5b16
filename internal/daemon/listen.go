package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listener is one HTTP server bound to its address before anything is sent, so
// that a taken port is an error at the start.
type listener struct {
	name string
	ln   net.Listener
	srv  *http.Server
}

// bind opens addr. The error names the setting and the remedy.
func bind(ctx context.Context, setting, addr string, h http.Handler) (*listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; choose another address there, or stop what uses it", addr, setting, err)
	}
	return &listener{name: setting, ln: ln, srv: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,  // reliability.md 3
		ReadTimeout:       15 * time.Second, // header and body
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}}, nil
}

// url is the listener's address as a client on this machine reaches it.
func (l *listener) url() string { return "http://" + reachable(l.ln.Addr()) }

// reachable turns a wildcard address into a loopback one.
func reachable(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok || !t.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(t.Port))
}

// serve answers until ctx ends, then lets running requests finish within budget.
func (l *listener) serve(ctx context.Context, budget time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- l.srv.Serve(l.ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("%s: %w", l.name, err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
	defer cancel()
	if err := l.srv.Shutdown(end); err != nil {
		_ = l.srv.Close() // requests that did not finish are cut; their sender repeats them
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

// public is the handler of the internet-facing listener: webhooks and GET /healthz only.
func public(path string, intake http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(path, intake)
	mux.HandleFunc("GET /healthz", healthz)
	return mux
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// admin is the handler of the inner listener.
func admin(metrics http.Handler, ready func() (note string, err error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		note, err := ready()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		healthz(w, r)
		if note != "" {
			_, _ = w.Write([]byte(note + "\n"))
		}
	})
	mux.Handle("GET /metrics", metrics)
	return mux
}
