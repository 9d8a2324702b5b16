package messaging

import (
	"net/http"
	"slices"
)

// Answer is the part of an HTTP answer that was read.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error // why the body is incomplete, else nil

	buffer *[]byte // of Body, if Exchange.Release takes it back
}

// RequestID is the header x-request-id.
func (a *Answer) RequestID() string {
	if v := a.Header["X-Request-Id"]; len(v) > 0 {
		return Token(v[0])
	}
	return ""
}

// Accepted reports whether the status is 2xx.
func (a *Answer) Accepted() bool { return a.Status >= 200 && a.Status <= 299 }

// StatusCode is an HTTP status together with an `error` code.
type StatusCode struct {
	Status int
	Code   string
}

// in reports whether a list has the status with this code, or with any code.
func (s StatusCode) in(list []StatusCode) bool {
	return slices.Contains(list, s) || slices.Contains(list, StatusCode{Status: s.Status})
}

// Reading is what is known of the answers of one service besides the code table. The zero value is
// nothing.
type Reading struct {
	// Proven lists answers that are refusals although their status (5xx, 408, 409, 499) means doubt.
	// Each has a code.
	Proven []StatusCode
	// Throttled lists answers that mean "slow down" besides 429 and the platform's codes. A StatusCode
	// without a code means every answer with that status.
	Throttled []StatusCode
	// CodeDecides means that a code of the platform's table is a refusal whatever the HTTP status,
	// except the codes that only say that something failed (docs/cloud.md#errors).
	CodeDecides bool
	// IDs are ids of the configuration, such as that of an account. They stay readable in prose,
	// where other runs of digits may be phone numbers and are masked.
	IDs []string
	// RetryAfter is the header with the time to wait. Default Retry-After.
	RetryAfter string
}
