package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// listener is one HTTP server. It listens on its address before anything is sent, so that a port
// in use is an error at the start.
type listener struct {
	name string
	ln   *boundedListener
	srv  *http.Server

	certificate *certificate // nil: plain HTTP
}

// bind listens on addr and serves h there once serve is called. The error names the setting and the
// remedy. docs/protocol.md#webhook-intake has the time-outs.
func bind(ctx context.Context, setting, addr string, h http.Handler) (*listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (%s): %w; choose another address there, or stop what uses it", addr, setting, err)
	}
	c := newBoundedListener(ln, descriptors())
	l := &listener{name: setting, ln: c, srv: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second, // header and body
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}}
	l.srv.ConnState = c.note
	return l, nil
}

// unusedGrace is how long the end waits for the first request of an open connection.
// http.Server.Shutdown would wait 5 s, and clients and load balancers open connections ahead of
// need.
const unusedGrace = 200 * time.Millisecond

// url returns the listener's address as a client on this machine reaches it.
func (l *listener) url() string {
	if l.certificate != nil {
		return "https://" + reachable(l.ln.Addr())
	}
	return "http://" + reachable(l.ln.Addr())
}

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
	go func() {
		if l.certificate != nil {
			served <- l.srv.ServeTLS(l.ln, "", "")
			return
		}
		served <- l.srv.Serve(l.ln)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("%s: %w", l.name, err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
	defer cancel()
	defer time.AfterFunc(unusedGrace, l.ln.closeUnused).Stop()
	if err := l.srv.Shutdown(end); err != nil {
		_ = l.srv.Close() // cuts requests that did not finish; the service repeats its webhooks
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

// publicRoute is a path of the public listener.
type publicRoute struct {
	path    string
	handler http.Handler
}

// public returns the handler of the public listener: its routes and GET /healthz only.
func public(routes ...publicRoute) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.path, r.handler)
	}
	mux.HandleFunc("GET /healthz", healthz)
	return mux
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// admin returns the handler of the admin listener. An error of ready is 503; a note is added to
// 200. operators is the operator's API, and console its pages; nil for none.
func admin(metrics, operators, console http.Handler, ready func() (note string, err error)) http.Handler {
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
	if operators != nil {
		mux.Handle("/api/v1/", operators)
	}
	if console != nil {
		mux.Handle("/console/", console)
		mux.Handle("GET /{$}", http.RedirectHandler("/console/", http.StatusSeeOther))
	}
	return mux
}
