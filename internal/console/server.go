package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// Options are what the configuration says of the console.
type Options struct {
	// BehindTLS says that a proxy with a certificate is before the listener, so that a sign-in without
	// TLS is permitted, and browsers are told to use https alone.
	BehindTLS bool
}

// Server answers the console. Make it with New.
type Server struct {
	process operator.Process
	options Options
	ctx     context.Context // ends when the process stops
	mux     *http.ServeMux
	origin  *http.CrossOriginProtection
	pages   pages
	assets  *assets
	routes  []route
	watch   watch
	checks  checks
	courses courses
	audits  chan struct{} // has an element for each audit under way
}

// New makes a Server.
func New(ctx context.Context, p operator.Process, o Options) (*Server, error) {
	s := &Server{process: p, options: o, ctx: ctx, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(),
		watch: watch{runs: map[watched]*figures{}}, checks: checks{kept: map[[sha256.Size]byte]kept{}},
		courses: courses{slowest: slowestCourse, kept: map[watched]course{}}, audits: make(chan struct{}, auditsAtOnce)}
	var err error
	if s.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = parsePages(s.assets); err != nil {
		return nil, err
	}
	s.routes = table()
	for i := range s.routes {
		r := &s.routes[i]
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) {
			req.Body = http.MaxBytesReader(w, req.Body, cmp.Or(r.body, maxForm))
			s.serve(r, w, req)
		})
	}
	s.mux.HandleFunc("GET /console/assets/{name}", s.assets.serve)
	s.mux.HandleFunc("GET /console/sign-in", s.signInPage)
	s.mux.HandleFunc("POST /console/sign-in", small(s.signIn))
	s.mux.HandleFunc("GET /console/enter", s.enterPage)
	s.mux.HandleFunc("POST /console/sign-out", small(s.signOut))
	s.mux.HandleFunc("GET /console/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/console/overview", http.StatusSeeOther)
	})
	s.mux.HandleFunc("/console/", func(w http.ResponseWriter, r *http.Request) {
		who, _ := s.visitor(r) // nobody: the page has no navigation
		s.fail(w, r, who, &problem{http.StatusNotFound, "There is no such page."})
	})
	return s, nil
}

// policy permits nothing but the console's own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm is the largest form, in bytes.
const maxForm = 64 << 10

// maxUpload is the most bytes that are read of a form with a list. A list beyond uploads.MaxList is
// read on, so that the browser shows why it is not taken.
const maxUpload = 4 * uploads.MaxList

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
	if r.TLS != nil || s.options.BehindTLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if err := s.origin.Check(r); err != nil {
		s.fail(w, r, operator.Caller{}, &problem{http.StatusForbidden, "This form came from another site, so nothing was done."})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// small limits the form of a handler.
func small(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		do(w, r)
	}
}

// cookie is the name of the session's cookie. The prefix makes browsers take it for this host alone
// and with Secure, which they also take from a loopback address without TLS.
const cookie = "__Host-campaignd"

// setCookie gives a browser a cookie for a time; 0 removes it.
func setCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	age := cmp.Or(int(lasts.Seconds()), -1)
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: true,
		SameSite: http.SameSiteStrictMode})
}

// visitor returns who sent a request. Another site's request has no cookie in a browser that obeys
// SameSite; in another one it is nobody's.
func (s *Server) visitor(r *http.Request) (operator.Caller, error) {
	c, err := r.Cookie(cookie)
	if err != nil || foreign(r) {
		return operator.Caller{}, operator.ErrUnauthorized
	}
	return s.process.Visitor(r.Context(), c.Value)
}

// foreign reports whether another site made the browser send the request. Sec-Fetch-Site says it;
// only a browser without it is judged by its Origin. The policy no-referrer makes the origin of the
// console's own forms "null".
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	return origin != "" && (err != nil || u.Host != r.Host)
}

// mayCarry reports whether a secret may travel over the connection of a request: it has TLS, or it
// does not leave this machine.
func (s *Server) mayCarry(r *http.Request) bool {
	if r.TLS != nil || s.options.BehindTLS {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// visit is one request of a route.
type visit struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	who operator.Caller
	d   *operator.Session
	// form has the fields of a POST, without the parameters of its address.
	form url.Values
}

// serve answers a request of a route.
func (s *Server) serve(route *route, w http.ResponseWriter, r *http.Request) {
	who, err := s.visitor(r)
	if errors.Is(err, operator.ErrUnauthorized) && r.Method == http.MethodGet {
		http.Redirect(w, r, "/console/sign-in?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	if err != nil {
		s.fail(w, r, operator.Caller{}, err)
		return
	}
	if err := route.allows(who); err != nil {
		s.fail(w, r, who, err)
		return
	}
	who.Trail = operator.NewTrail(r.RemoteAddr)
	v := &visit{Server: s, w: w, r: r, who: who, d: s.process.For(who)}
	if r.Method == http.MethodPost {
		s.act(route, v)
		return
	}
	if what := route.exports(); what != "" {
		if err := v.d.Finish(r.Context(), what, r.PathValue("run"), "in the console"); err != nil {
			s.fail(w, r, who, err)
			return
		}
	}
	view, err := route.show(v)
	switch {
	case err != nil:
		s.fail(w, r, who, err)
	case view != nil:
		s.render(w, r, who, http.StatusOK, route.page, view)
	}
}

// act does what a form asks for. An action that cannot be undone is confirmed first.
func (s *Server) act(route *route, v *visit) {
	if err := v.r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if !errors.As(err, &large) {
			err = &problem{http.StatusBadRequest, "The form cannot be read."}
		}
		s.fail(v.w, v.r, v.who, err)
		return
	}
	v.form = v.r.PostForm //nolint:forbidigo // the fields of a request, not the client's function
	if route.confirm != nil {
		if q := route.confirm(v); !q.answered(v) {
			s.render(v.w, v.r, v.who, http.StatusOK, "confirm", confirmOf(q, v))
			return
		}
	}
	done, err := route.do(v)
	if e := v.d.Finish(v.r.Context(), "", "", operator.Result(err)); e != nil {
		s.process.Log.Error("the log of actions lacks the result of a request", "route", route.path, "err", e)
	}
	v.watch.forget()
	switch {
	case err != nil:
		s.fail(v.w, v.r, v.who, err)
	case done.answered:
	case done.view != nil:
		s.render(v.w, v.r, v.who, http.StatusOK, route.page, done.view)
	default:
		say(v.w, done.said)
		http.Redirect(v.w, v.r, done.to, http.StatusSeeOther)
	}
}
