package sandbox

import (
	"campaignd/internal/sandbox/area"
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// beforeAcceptance draws the faults that prevent the acceptance. It answers as the first one that
// fires demands, and reports whether one fired.
func (s *Sandbox) beforeAcceptance(w http.ResponseWriter, r *http.Request, f *Faults, p *post) bool {
	about := p.keys()
	switch {
	case s.fires(f, faultTooMany, about...):
		s.event(p.event("lost", "", faultTooMany.String()))
		s.tooMany(w, s.hash(drawStatus, about...)&1 == 0, max(f.RetryAfter, time.Second))
	case s.fires(f, faultRedirect, about...):
		s.event(p.event("lost", "", faultRedirect.String()))
		w.Header().Set("Location", "https://moved.invalid"+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
	case s.fires(f, faultServerError, about...):
		s.event(p.event("lost", "", faultServerError.String()))
		serverError(w, f, s.hash(drawStatus, about...))
	case s.fires(f, faultLostBefore, about...):
		s.event(p.event("lost", "", faultLostBefore.String()))
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer; the transport in memory returns io.EOF
	case s.fires(f, faultHangBefore, about...):
		s.event(p.event("lost", "", faultHangBefore.String()))
		s.hang(r, f)
	default:
		g := s.page(f, p, false)
		if g == nil {
			return false
		}
		s.event(p.event("lost", "", faultPage.String()))
		s.show(w, r, f, g)
	}
	return true
}

// hang gives no answer. It closes the connection when the client has left or Faults.HangFor has
// passed.
func (s *Sandbox) hang(r *http.Request, f *Faults) {
	d := cmp.Or(f.HangFor, 30*time.Second)
	s.sleep(r.Context(), d)
	panic(http.ErrAbortHandler)
}

// serverError answers with one of the configured codes, in the form that a proxy or the service
// gives it.
func serverError(w http.ResponseWriter, f *Faults, h uint64) {
	codes := f.Codes
	if len(codes) == 0 {
		codes = []int{500, 502, 503, 504}
	}
	switch code := codes[h>>1%uint64(len(codes))]; code {
	case 502, 504:
		page(w, code)
	case 503:
		ref := area.RefusePlatform(131016, "")
		ref.Status = code
		refuse(w, ref)
	case 408, 499:
		writeRaw(w, code, "text/plain; charset=UTF-8", nil)
	case 409:
		refuse(w, area.Refuse(code, "conflict", "In progress."))
	default:
		refuse(w, area.Refuse(code, "internal_error", "Something went wrong."))
	}
}

// warningProse is data.warning.message by data.warning.code (docs/service.md#send-response).
var warningProse = map[string]string{
	"outside_service_window":    "The customer service window is closed; the platform may drop this message. Resend as a template.",
	"unverified_service_window": "Whether the customer service window is open could not be verified; the platform may drop this message.",
}

// answer draws the faults that come after the acceptance. If none fires, it answers 200 with the
// messageId.
func (s *Sandbox) answer(w http.ResponseWriter, r *http.Request, f *Faults, p *post, got accepted) {
	about := p.keys()
	if s.opt.OnEvent != nil {
		s.event(p.event("accepted", got.id, got.warning))
	}
	early := len(got.postings) > 0 && s.drawn(f, faultEarly, about...)
	s.schedule(got, early)
	if early && s.postEarly(r, got) {
		s.fired[faultEarly].Add(1)
	}
	lost := func(which fault) bool {
		if !s.fires(f, which, about...) {
			return false
		}
		s.records.answered(got.index, which)
		s.event(p.event("lost", got.id, which.String()))
		return true
	}
	switch {
	case lost(faultLostAfter):
		panic(http.ErrAbortHandler)
	case lost(faultHangAfter):
		s.hang(r, f)
	case lost(faultErrorAfter):
		serverError(w, f, s.hash(drawStatus, about...))
		return
	case lost(faultNoID):
		writeRaw(w, http.StatusOK, "application/json", []byte(`{"data":{}}`))
		return
	case lost(faultEmptyBody):
		writeRaw(w, http.StatusOK, "text/plain; charset=UTF-8", nil)
		return
	}
	if g := s.page(f, p, true); g != nil {
		s.records.answered(got.index, faultPage)
		s.event(p.event("lost", got.id, faultPage.String()))
		s.show(w, r, f, g)
		return
	}
	id := got.id
	switch {
	case lost(faultLongID):
		id = "wamid." + strings.Repeat("A", 64<<10)
	case got.before != "" && lost(faultRepeatedID):
		id = got.before
	}
	var buf [512]byte
	body := append(buf[:0], `{"data":{"messageId":"`...)
	body = append(body, id...)
	body = append(body, '"')
	if got.warning != "" {
		body = append(body, `,"warning":{"code":"`...)
		body = append(body, got.warning...)
		body = append(body, `","message":"`+warningProse[got.warning]+`"}`...)
	}
	body = append(body, "}}"...)
	switch {
	case lost(faultCutBody): // as if a proxy had lost the rest and corrected the Content-Length
		writeRaw(w, http.StatusOK, "application/json", body[:len(body)/2])
	case s.fires(f, faultSlowBody, about...):
		s.slow(w, r, f, body, s.hash(drawSlow, about...))
	default:
		writeRaw(w, http.StatusOK, "application/json", body)
	}
}

// slow writes the first half of the body at once, and the second half after Faults.SlowFor.
func (s *Sandbox) slow(w http.ResponseWriter, r *http.Request, f *Faults, body []byte, h uint64) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush() // a writer that cannot flush sends both halves at once
	s.sleep(r.Context(), f.SlowFor.or(Delay{Median: 2 * time.Second}).draw(h))
	_, _ = w.Write(body[len(body)/2:])
}
