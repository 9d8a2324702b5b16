package commerce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is the error type of every method. It has no word of an answer: an answer may hold a
// person's phone or address, a key, or a trace of the platform's own code.
type Error struct {
	Code Code
	// Route is the request without ids and parameters, such as GET /2023-11/admin/orders; "" for a
	// callback.
	Route string
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Fields are the members of our request that the platform refuses, sorted.
	Fields []string
	// Wait is the Retry-After of the answer, 0 without one.
	Wait time.Duration
	// Err is the fault of the network, if there was one.
	Err error
}

// Error returns one line.
func (e *Error) Error() string {
	s := e.Code.Sentence()
	if len(e.Fields) > 0 {
		s += ": " + strings.Join(e.Fields, ", ")
	}
	about := []string{string(e.Code)}
	if e.Route != "" {
		about = append(about, e.Route)
	}
	if e.Status != 0 {
		about = append(about, "HTTP "+strconv.Itoa(e.Status))
	}
	if e.Wait > 0 {
		about = append(about, "Retry-After "+e.Wait.String())
	}
	s = fmt.Sprintf("%s (%s)", s, strings.Join(about, ", "))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// endedBy returns the error of a request that the end of the caller's time kept from another try:
// e, the fault of the last try, and end. Without a last try it is end.
func (e *Error) endedBy(end error) error {
	if e == nil {
		return end
	}
	ended := *e
	if ended.Err = end; e.Err != nil {
		ended.Err = fmt.Errorf("%w, after %w", end, e.Err)
	}
	return &ended
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool { return meanings[e.Code].temporary }

// repeated reports whether a request that may be repeated is. A plain 500 and the one with the
// status "error" are final (docs/commerce.md#repetition).
func (e *Error) repeated() bool {
	switch e.Status {
	case 0:
		return e.Code == CodeUnreachable || e.Code == CodeTimeOut
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refusal has the members of the five bodies of an error that say which it is
// (docs/commerce.md#errors). The members exception, file, line and trace are not read.
type refusal struct {
	Message text                       `json:"message"`
	Status  text                       `json:"status"`
	Errors  map[string]json.RawMessage `json:"errors"`
}

// phrases are the messages of the document that say more than the status.
var phrases = map[string]Code{
	"API key is missing":                         CodeKeyMissing,
	"Invalid API key":                            CodeKeyInvalid,
	"Sandbox key not allowed for live operation": CodeSandboxKey,
	"Please provide a Company Id":                CodeCompanyMissing,
	"Payment link could not be generated":        CodeNoLink,
}

// ourFields are the members of requests that the client sends. A field of another name may be any
// text and is not shown.
var ourFields = []string{"amount_due", "cancel_url", "client_id", "code", "company", "company_id", "customer", "customer.email",
	"customer.id", "customer.phone", "email", "filter", "include", "page", "phone", "redirect_uri", "sort", "success_url"}

// refused classifies an answer that is not 2xx.
func refused(status int, header http.Header, body []byte) *Error {
	e := &Error{Status: status, Code: codeOfStatus(status), Wait: retryAfter(header, time.Now())}
	var r refusal
	if json.NewDecoder(bytes.NewReader(body)).Decode(&r) != nil {
		return e
	}
	if code, ok := phrases[string(r.Message)]; ok && status >= 400 && status < 500 {
		e.Code = code
	}
	if status == http.StatusInternalServerError && r.Status == "error" {
		e.Code = CodeNothingDue
	}
	for field := range r.Errors {
		if slices.Contains(ourFields, field) {
			e.Fields = append(e.Fields, field)
		}
	}
	slices.Sort(e.Fields)
	return e
}

func codeOfStatus(status int) Code {
	switch {
	case status == http.StatusUnauthorized:
		return CodeKeyInvalid
	case status == http.StatusForbidden:
		return CodeDenied
	case status == http.StatusNotFound:
		return CodeNotFound
	case status == http.StatusTooManyRequests:
		return CodeRateLimited
	case status >= 500:
		return CodeServer
	case status >= 400:
		return CodeInvalid
	case status >= 300:
		return CodeRedirect
	}
	return CodeBadAnswer // 1xx and other statuses that no final answer has
}

// mostRetryAfter bounds what a Retry-After asks for. The platform is asked again after it, which
// costs one request; a nonsensical number would stop all audiences and orders.
const mostRetryAfter = time.Hour

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3), at most mostRetryAfter; 0 without
// either.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	// A number that is too large for an integer is the largest one.
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(mostRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), mostRetryAfter)
	}
	return 0
}
