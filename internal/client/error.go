package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// The stable codes of failures (Error.Code). A refused launch or list has the reason of
// campaign.RefusalOf.
const (
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden" // the key's scope or company does not allow it
	CodeTooMany      = "too_many_wrong_keys"
	CodeNotFound     = "not_found"
	CodeMethod       = "method_not_allowed"
	CodeNotNow       = "not_now"     // the run's state does not allow it
	CodeSamePerson   = "same_person" // the key that launched the run may not approve it
	CodeRepeated     = "repeated"
	CodeInvalid      = "invalid_request"
	CodeTooLarge     = "too_large"
	CodeWrongOffset  = "wrong_offset" // of a part; Meta["received"] is the right one
	CodeWrongHash    = "wrong_hash"   // the uploaded list does not have this hash
	CodeNoSpace      = "no_space"     // for the part of a list
	CodeBusy         = "busy"
	CodeStopping     = "stopping"
	CodeInternal     = "internal"
	CodeNotOffered   = "not_offered" // the messaging service has no such operation, or the process takes no list
	CodeService      = "service"     // the messaging service failed, or refused
)

// Error is a failure that the API answered with.
type Error struct {
	Status    int            `json:"-"` // of HTTP
	Code      string         `json:"error"`
	Message   string         `json:"message"`
	Meta      map[string]any `json:"meta"`
	RequestID string         `json:"-"` // x-request-id, for the log of the server
}

func (e *Error) Error() string { return e.Message }

// Invalid reports whether the request itself is at fault, so that it fails again when it is
// repeated.
func (e *Error) Invalid() bool {
	switch e.Code {
	case CodeUnauthorized, CodeTooMany, CodeNotNow, CodeRepeated, CodeWrongOffset, CodeWrongHash:
		return false
	}
	return e.Status >= 400 && e.Status < 500
}

// Temporary reports whether the same request may succeed a while later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		return true
	}
	return false
}

// failure reads a failure of at most 1 MiB.
func failure(res *http.Response) error {
	e := &Error{Status: res.StatusCode, RequestID: res.Header.Get("X-Request-Id")}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("the answer of %s (%s) ended early: %w", res.Request.URL.Host, res.Status, err)
	}
	if err := json.Unmarshal(text, e); err != nil || e.Message == "" || e.Code == "" {
		return fmt.Errorf("%s gave no answer of campaignd (%s): %.100q", res.Request.URL.Host, res.Status, text)
	}
	return e
}
