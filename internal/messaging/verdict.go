package messaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/mutant"
)

// StatusCode is a pair of an HTTP status and an `error` code.
type StatusCode struct {
	Status int
	Code   string
}

// The order of a decision (design section 4, "What an answer proves"); each step only
// where the one before did not decide:
//
//	nothing written to the wire                        NotSent    transportError
//	time-out, reset, EOF                               Doubt      transportError
//	2xx with a usable id                               accepted   Client.Send
//	2xx without                                        DoubtNoID  noID
//	5xx, 408, 409, 499 (ProvenRefusals excepted)       Doubt      refusal
//	any other: meta.code, meta.retryable, errorClass,
//	error, status                                      NotSent    refusal
//	connection_not_found, message with an assetId      its row    Error.blame

// transportError judges an exchange that ended without an answer. written tells
// whether a byte may have reached the wire.
func transportError(ctx context.Context, err error, written bool) *Error {
	if !written {
		r := serviceRows[codeNotConnected]
		return &Error{Proof: NotSent, Action: r.Action, Code: codeNotConnected, Message: Scrub(reason(err), maxMessage), Err: err}
	}
	e := &Error{Proof: Doubt, Message: Scrub(reason(err), maxMessage), Err: err}
	switch {
	case errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, context.Canceled):
		e.Code = codeCancelled
	case isTimeout(err) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Code = codeTimeOut
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no type for it
		e.Code = codeBadAnswer
	default:
		e.Code = codeReset
	}
	if mutant.On("time_out_is_refusal") {
		e.Proof, e.Action = NotSent, RetryOnce
	}
	return e
}

// answer is what was read of one HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // why the body is incomplete
}

// noID judges a 2xx whose body gives no usable id: accepted, but who knows as what.
func noID(a *answer, requestID string) *Error {
	why := "the answer holds no usable messageId"
	if a.err != nil {
		why = "the answer was cut: " + reason(a.err)
	}
	return &Error{Proof: DoubtNoID, Status: a.status, Code: codeAcceptedNoID, Message: Scrub(why, maxMessage), RequestID: requestID, Err: a.err}
}

// refusal judges an answer outside 2xx.
func refusal(a *answer, requestID, key string, proven []StatusCode) *Error {
	e := &Error{Status: a.status, RequestID: requestID, Err: a.err}
	said := e.read(a.body, key)
	e.Wait = retryAfter(a.header)
	if doubtful(a.status) && !provenRefusal(proven, a.status, e.Code) && !mutant.On("5xx_is_refusal") {
		e.Proof = Doubt
		if e.Code == "" {
			e.Code = httpCode(a.status)
		}
		return e
	}
	e.Proof = NotSent
	var r row
	switch {
	case a.status >= 300 && a.status < 400:
		r, e.Code = serviceRows[codeRedirect], codeRedirect
		e.Message = Scrub(fmt.Sprintf("%s (Location: %s)", r.Sentence, a.header.Get("Location")), maxMessage)
	case a.status == 403 && !said.json && strings.Contains(string(a.body), "error code: 1010"):
		// seed 000, Authentication 6: plain text from the CDN.
		r, e.Code = serviceRows[codeCDN], codeCDN
		e.Message = r.Sentence
	case a.err != nil && !said.json && a.status != 401 && a.status != 402 && a.status != 429:
		// Refused, but the reason was cut off.
		r, e.Code = retry("the service refused, and its answer was cut before the reason"), httpCode(a.status)
	default:
		r = e.row(said)
		if e.Code == "" {
			e.Code = httpCode(a.status)
		}
	}
	if e.Message == "" {
		e.Message = r.Sentence
	}
	e.Action, e.Hold, e.Feed = r.Action, r.Hold, r.Feed
	if e.Wait == 0 {
		e.Wait = r.Wait
	}
	return e
}

// blame corrects what only the message can tell: connection_not_found is also the answer to an assetId that does not
// exist or is past its 30 days (seed 000, rule 11). Of a message with one the payload is at fault as far as anybody knows:
// the run's breaker decides, not a pause of everybody on the number.
func (e *Error) blame(m *Message) {
	if e.Proof == NotSent && e.Code == codeNotFound && m.hasAsset() {
		e.Action, e.Hold = RetryOnce, HoldPayload // as send_media
	}
}

// said is what the body of a refusal turned out to be.
type said struct {
	json bool
	code bool // meta.code was there, maybe as 0
}

// row finds the row of a proven refusal: meta.code first, then meta.retryable, then
// the class, then the error code, then the status.
func (e *Error) row(s said) row {
	if s.code {
		if r, ok := platformRow(e.Platform); ok {
			return r
		}
	}
	named, known := serviceRows[e.Code]
	if !known && e.Class != "" {
		named, known = serviceRows["send_"+e.Class]
	}
	switch {
	case e.Status == 429:
		return statusRow(429, s.json)
	case e.Retryable != nil && *e.Retryable && (!known || named.Action == Refuse):
		return row{Action: RetryOnce, Sentence: serviceRows["send_retryable"].Sentence}
	case known:
		return named
	case e.Class != "" || strings.HasPrefix(e.Code, "send_"):
		// seed 000, Errors: any other platform refusal; only send_retryable and send_media are worth one more try.
		return fix("the platform refused the message")
	}
	return statusRow(e.Status, s.json)
}

// read fills e from the body of a failure: {error, message, meta}; where the platform's own error
// object leaks through ({error: {code, message, fbtrace_id}}), its parts are taken.
func (e *Error) read(body []byte, key string) (s said) {
	v, err := parse(body)
	if err != nil || !v.isObject() {
		return s
	}
	s.json = true
	var message string
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "error":
			if m.val.isObject() {
				s.code = e.readMeta(m.val) || s.code
				message = m.val.get("message").text()
			} else {
				e.Code = token(m.val.text())
			}
		case "message":
			message = m.val.text()
		case "meta":
			s.code = e.readMeta(m.val) || s.code
		}
	}
	if key != "" {
		message = strings.ReplaceAll(message, key, hidden)
	}
	e.Message = Scrub(message, maxMessage)
	return s
}

func (e *Error) readMeta(v value) (code bool) {
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "errorClass":
			e.Class = token(m.val.text())
		case "retryable", "is_transient":
			if b, ok := m.val.flag(); ok {
				e.Retryable = &b
			}
		case "code":
			if n, ok := m.val.integer(); ok && n >= 0 && n < 1<<31 {
				e.Platform, code = int(n), true
			}
		case "traceId", "fbtrace_id":
			e.TraceID = token(m.val.text())
		}
	}
	return code
}

// token cuts what should be an identifier to what may stand in a log line and a metric.
func token(s string) string {
	s = cut(s, 128)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			return strings.Map(func(r rune) rune {
				if r <= ' ' || r >= 0x7f {
					return '_'
				}
				return r
			}, s)
		}
	}
	return s
}

// maxMessage is the longest prose kept, in bytes.
const maxMessage = 300

// doubtful statuses prove nothing, whatever code their body carries: something may have failed
// after the platform had accepted.
func doubtful(status int) bool {
	return status >= 500 || status < 200 || status == 408 || status == 409 || status == 499
}

func provenRefusal(proven []StatusCode, status int, code string) bool {
	for _, p := range proven {
		if p.Status == status && p.Code == code {
			return true
		}
	}
	return false
}

func httpCode(status int) string { return "http_" + strconv.Itoa(status) }

// retryAfter reads Retry-After (RFC 9110, 10.2.3): seconds or a date; at most a day.
func retryAfter(h http.Header) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if s == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		if !(n > 0) {
			return 0
		}
		d = time.Duration(min(n, 86400) * float64(time.Second))
	} else if at, err := http.ParseTime(s); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), 24*time.Hour)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func reason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the connection was closed"
	case errors.Is(err, context.Canceled):
		return "given up by the caller"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}
