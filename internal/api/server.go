package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/operator"
	"campaignd/internal/tracing"
	"campaignd/internal/uploads"
)

// Server answers the API. Make it with New.
type Server struct {
	process operator.Process
	mux     *http.ServeMux
	api     huma.API
	ctx     context.Context // the context of every launch; it ends when the process stops
	// checks has an element for each list that is read for a check or a forecast.
	checks chan struct{}
	feed   *feed
	logged map[string]string // operation ids by method and path: those with a line in the log of actions
}

// New makes a Server and removes the uploads that no run needs any more. When ctx ends, the
// launches end.
func New(ctx context.Context, p operator.Process) (*Server, error) {
	s := &Server{process: p, mux: http.NewServeMux(), ctx: ctx, checks: make(chan struct{}, checksAtOnce), logged: map[string]string{}}
	s.feed = newFeed((&observer{s: s, companies: map[campaign.RunNo]string{}}).poll, p.Log)
	s.routes()
	return s, errors.Join(p.Uploads.Clean(ctx), p.Uploads.Expire(p.Session.Expiry.Before(uploads.KeptFor)))
}

// Run polls the ledger for the streams of events, and removes old uploads, until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { s.expire(ctx) })
	s.feed.run(ctx)
	work.Wait()
}

// request is what the handlers need of a request beside its parameters.
type request struct {
	operator.Caller
	none string // If-None-Match
	body *arriving
	idem string // Idempotency-Key
}

type requestKey struct{}

// requestOf returns the request that ctx belongs to.
func requestOf(ctx context.Context) request {
	r, _ := ctx.Value(requestKey{}).(request)
	return r
}

// maxIdempotency is the longest Idempotency-Key, in bytes.
const maxIdempotency = 200

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", requestID(r.Header.Get("X-Request-Id")))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "private, no-cache")
	if r.URL.Path == documentPath+".json" { // the document has no secret, and generators send no key
		s.mux.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == documentPath+"-3.0.json" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		s.older(w)
		return
	}
	who, err := s.admit(r.Context(), r)
	if err != nil {
		s.refuse(w, s.failed("admit", err))
		return
	}
	who.Trail = operator.NewTrail(r.RemoteAddr)
	answer := drains(w, r)
	w = answer
	_, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.unrouted(w, r)
		return
	}
	in := request{Caller: who, none: r.Header.Get("If-None-Match"), idem: r.Header.Get("Idempotency-Key"),
		body: &arriving{http.MaxBytesReader(w, r.Body, maxSuppressions), http.NewResponseController(w), r.ContentLength}}
	if len(in.idem) > maxIdempotency {
		s.refuse(w, &Error{http.StatusBadRequest, client.CodeInvalid, "the header Idempotency-Key has at most " +
			strconv.Itoa(maxIdempotency) + " bytes", nil})
		return
	}
	ctx, span := tracing.Serve(r, pattern)
	defer span.End("")
	if id := s.logged[pattern]; id != "" {
		defer s.log(who, id, r, answer)()
	}
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestKey{}, in)))
}

// log returns a function that writes the result of a request into its lines of the log of actions.
func (s *Server) log(who operator.Caller, id string, r *http.Request, answer *draining) (end func()) {
	on, session := "", s.process.For(who)
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/v1/runs/"); ok { // other paths may have a phone number
		on, _, _ = strings.Cut(rest, "/")
	}
	return func() {
		result := operator.Done
		if answer.status >= http.StatusBadRequest {
			result = fmt.Sprintf("not done: %d %s", answer.status, http.StatusText(answer.status))
		}
		if err := session.Finish(r.Context(), id, on, result); err != nil {
			s.process.Log.Error("the log of actions lacks the result of a request", "route", id, "err", err)
		}
	}
}

// admit returns who sent the request. The scheme may be in any case (RFC 9110, section 11.1).
func (s *Server) admit(ctx context.Context, r *http.Request) (operator.Caller, error) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		secret = ""
	}
	return s.process.Guard.Admit(ctx, r.RemoteAddr, strings.Trim(secret, " "))
}

// requestID returns the caller's id of a request if it has only plain characters, else a new id.
func requestID(given string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if given != "" && len(given) <= 100 && strings.IndexFunc(given, func(r rune) bool { return !plain(r) }) < 0 {
		return given
	}
	b := make([]byte, 12)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// refuse answers before the body is read.
func (s *Server) refuse(w http.ResponseWriter, e *Error) {
	w.Header().Set("Connection", "close") // the body is not read
	switch e.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(int(operator.WrongRefill.Seconds())))
	}
	e.write(w, "")
}

// headers keeps the headers and the status of an answer and drops its body.
type headers struct {
	header http.Header
	status int
}

func (h *headers) Header() http.Header         { return h.header }
func (h *headers) Write(b []byte) (int, error) { return len(b), nil }
func (h *headers) WriteHeader(status int)      { h.status = status }

// unrouted answers a request to a path without a route, or with routes for other methods only.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request) {
	told := &headers{header: http.Header{}}
	s.mux.ServeHTTP(told, r)
	if allow := told.header.Get("Allow"); told.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", allow)
		s.refuse(w, &Error{http.StatusMethodNotAllowed, client.CodeMethod, "this route takes " + allow, nil})
		return
	}
	s.refuse(w, &Error{http.StatusNotFound, client.CodeNotFound, "there is no such route; GET " + documentPath + ".json lists them", nil})
}
