package messaging

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/rawjson"
	"campaignd/internal/secret"
	"campaignd/internal/sentence"
)

// The order of the decisions (docs/protocol.md#what-an-answer-proves). Each line applies only if no
// line above it does, except the last, which corrects a result:
//
//	nothing written to the wire                        NotSent    transportError
//	time-out, reset, EOF                               Doubt      transportError
//	2xx with a usable id                               accepted   the client
//	2xx without one, or not JSON                       DoubtNoID  Answer.NoID
//	5xx, 1xx, 408, 409, 499 (but ProvenRefusals)       Doubt      refusal
//	any other: meta.code, 429, meta.retryable, error,
//	errorClass, status                                 NotSent    refusal
//	connection_not_found, message with an assetId      its row    Error.Blame

// transportError classifies an exchange that ended without an answer. written is true if a byte of
// the request may have left.
func transportError(ctx context.Context, err error, written bool) *Error {
	if !written {
		r := ownRows[codeNotConnected]
		return &Error{Proof: NotSent, Action: r.Action, Code: codeNotConnected, Message: Scrub(reason(err), maxMessage), Err: err}
	}
	e := &Error{Proof: Doubt, Message: Scrub(reason(err), maxMessage), Err: err}
	switch {
	case errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, context.Canceled):
		e.Code = codeCancelled
	case isTimeout(err) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Code = codeTimeOut
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no error type for it
		e.Code = codeBadAnswer
	default:
		e.Code = codeReset
	}
	return e
}

// Refusal classifies an answer outside 2xx. The key is hidden in its message.
func (r *Reading) Refusal(a *Answer, key Secret) *Error {
	if r.RetryAfter != "" && r.RetryAfter != "Retry-After" {
		a.Header.Set("Retry-After", a.Header.Get(r.RetryAfter))
	}
	e := r.refusal(a, key.Reveal())
	if (StatusCode{e.Status, e.Code}).in(r.Throttled) {
		r := statusRow(http.StatusTooManyRequests, true)
		e.Proof, e.Action, e.Hold, e.EndedBy, e.Feed, e.Wait = NotSent, r.Action, r.Hold, r.EndedBy, r.Feed, RetryAfter(a.Header)
	}
	if _, own := ownRows[e.Code]; own && e.reason != e.Code { // a code of the service that is also one of this package, with another meaning
		e.Code = httpCode(e.Status)
	}
	return e
}

// NoID classifies a 2xx without a usable id in its body: the service accepted the message under an
// unknown id. A body that is not JSON is not the service's own, so it is unknown whether the
// message reached the service.
func (a *Answer) NoID() *Error {
	code, why := codeAcceptedNoID, "the answer holds no usable messageId"
	switch body := bytes.TrimLeft(a.Body, " \n\r\t"); {
	case len(body) > 0 && body[0] != '{' && body[0] != '[':
		code, why = codeNotService, "the answer is not JSON and comes from something in front of the service"
	case a.Err != nil:
		why = "the answer was cut: " + reason(a.Err)
	}
	return &Error{Proof: DoubtNoID, Status: a.Status, Code: code,
		Message: Scrub(why, maxMessage), RequestID: a.RequestID(), Err: a.Err}
}

// refusal classifies an answer outside 2xx by the code table.
func (r *Reading) refusal(a *Answer, key string) *Error {
	e := &Error{Status: a.Status, RequestID: a.RequestID(), Err: a.Err}
	body := e.read(a.Body, key, r.IDs)
	e.Wait = RetryAfter(a.Header)
	if Doubtful(a.Status) && !r.proves(e, body) {
		e.Proof = Doubt
		if e.Code == "" {
			e.Code = r.named(e, body)
		}
		return e
	}
	e.Proof = NotSent
	var found row
	switch {
	case a.Status >= 300 && a.Status < 400:
		found, e.Code, e.reason = ownRows[codeRedirect], codeRedirect, codeRedirect
		e.Message = Scrub(fmt.Sprintf("%s (Location: %s)", found.Sentence, a.Header.Get("Location")), maxMessage)
	case a.Status == 403 && !body.json && strings.Contains(string(a.Body), "error code: 1010"):
		// The CDN answers with plain text (docs/service.md#authentication).
		found, e.Code, e.reason = ownRows[codeCDN], codeCDN, codeCDN
		e.Message = found.Sentence
	case a.Err != nil && !body.json && a.Status != 401 && a.Status != 402 && a.Status != 429:
		// The service refused, and its reason was cut off.
		found, e.Code = retry("the service refused, and its answer was cut before the reason"), httpCode(a.Status)
	default:
		found = e.row(body)
		if e.Code == "" {
			e.Code = r.named(e, body)
		}
	}
	e.Message = cmp.Or(e.Message, found.Sentence)
	e.Action, e.Hold, e.Feed, e.EndedBy = found.Action, found.Hold, found.Feed, found.EndedBy
	e.Wait = cmp.Or(e.Wait, found.Wait)
	return e
}

// proves reports whether a failure proves that the message was refused although its status means
// doubt.
func (r *Reading) proves(e *Error, b refusalBody) bool {
	return slices.Contains(r.Proven, StatusCode{e.Status, e.Code}) || r.CodeDecides && b.code && decides(e.Platform)
}

// decides reports whether a code of the platform proves that it took no message. Some codes say
// only that something failed or is away, and may come after the message was taken.
func decides(code int) bool {
	switch code {
	case 1, 2, 131000, 131016, 133004:
		return false
	}
	_, known := platformRow(code)
	return known
}

// Blame corrects the meaning of connection_not_found. The service gives the same code for an
// assetId that does not exist or is older than 30 days (docs/service.md#errors). For a message with
// an assetId the payload is therefore at fault: if the fault is repeated, that run pauses, and the
// other runs on the number go on.
func (e *Error) Blame(m *Message) {
	if e.Proof == NotSent && e.Code == NotFound && m.hasAsset() {
		e.Action, e.Hold, e.EndedBy = RetryOnce, HoldPayload, EndedByNothing // as send_media
	}
}

// refusalBody describes the body of a refusal.
type refusalBody struct {
	json bool // the body is a JSON object
	code bool // meta.code is there; it may be 0
}

// named is the code of a refusal whose body has no `error` of the service.
func (r *Reading) named(e *Error, b refusalBody) string {
	if r.CodeDecides && b.code {
		return strconv.Itoa(e.Platform)
	}
	return httpCode(e.Status)
}

// row finds the row of a proven refusal: by meta.code, else by a status of 429, else by the error
// code, else by the class, else by the status. A meta.retryable of true replaces a row that would
// refuse.
func (e *Error) row(b refusalBody) row {
	if b.code {
		sub := fmt.Sprintf("%d/%d", e.Platform, e.Subcode)
		if e.Platform == 100 && strings.Contains(e.Message, "appsecret_proof") {
			sub = AppSecretRefused
		}
		if r, ok := subcodeRows[sub]; ok {
			e.reason = sub
			return r
		}
		if r, ok := platformRow(e.Platform); ok {
			e.reason = strconv.Itoa(e.Platform)
			return r
		}
	}
	e.reason = e.Code
	named, known := serviceRows[e.Code]
	if !known && e.Class != "" {
		e.reason = "send_" + e.Class
		named, known = serviceRows[e.reason]
	}
	switch {
	case e.Status == 429:
		e.reason = httpCode(429)
		return statusRow(429, b.json)
	case e.Retryable != nil && *e.Retryable && !known:
		return forNow(serviceRows["send_retryable"].Sentence)
	case e.Retryable != nil && *e.Retryable && named.Action == Refuse:
		return row{Action: RetryOnce, Sentence: serviceRows["send_retryable"].Sentence}
	case known:
		return named
	case e.Class != "" || strings.HasPrefix(e.Code, "send_"):
		// Any other refusal of the platform. Only send_retryable and send_media get one more try
		// (docs/service.md#errors).
		return forNow("the platform refused the message")
	}
	e.reason = httpCode(e.Status)
	return statusRow(e.Status, b.json)
}

// read fills e from the body of a failure: {error, message, meta} (docs/service.md#error-object).
// It also reads the platform's own error object, {error: {code, message, error_subcode,
// error_data: {details}, error_user_title, error_user_msg, fbtrace_id}}: only these parts say which
// of the many faults of one code it is. ids stay readable.
func (e *Error) read(body []byte, key string, ids []string) (b refusalBody) {
	v, err := rawjson.Parse(body)
	if err != nil || !v.IsObject() {
		return b
	}
	b.json = true
	var message string
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "error":
			if m.Val.IsObject() {
				b.code = e.readMeta(m.Val) || b.code
				message = e.platformProse(m.Val)
			} else {
				e.Code = Token(m.Val.Text())
			}
		case "message":
			message = m.Val.Text()
		case "meta":
			b.code = e.readMeta(m.Val) || b.code
		}
	}
	if key != "" {
		message = strings.ReplaceAll(message, key, secret.Hidden)
	}
	e.Message = scrub(message, maxRefusal, ids)
	return b
}

// platformProse joins what the platform says of a refusal, without repetitions. Each part is cut,
// so that a long one leaves room for the others.
func (e *Error) platformProse(v rawjson.Value) string {
	all := sentence.Clip(v.Get("message").Text(), maxRefusal/3)
	if e.Subcode != 0 {
		all += fmt.Sprintf(" (subcode %d)", e.Subcode)
	}
	for _, part := range []string{v.Get("error_data").Get("details").Text(), v.Get("error_user_title").Text(),
		v.Get("error_user_msg").Text()} {
		if part = sentence.Clip(strings.TrimSpace(part), maxRefusal/3); part != "" && !strings.Contains(all, part) {
			all += ": " + part
		}
	}
	return strings.TrimPrefix(all, ": ")
}

func (e *Error) readMeta(v rawjson.Value) (code bool) {
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "errorClass":
			e.Class = Token(m.Val.Text())
		case "retryable", "is_transient":
			if b, ok := m.Val.Bool(); ok {
				e.Retryable = &b
			}
		case "code":
			if n, ok := m.Val.Integer(); ok && n >= 0 && n < 1<<31 {
				e.Platform, code = int(n), true
			}
		case "error_subcode":
			if n, ok := m.Val.Integer(); ok && n > 0 && n < 1<<31 {
				e.Subcode = int(n)
			}
		case "traceId", "fbtrace_id":
			e.TraceID = Token(m.Val.Text())
		}
	}
	return code
}

// Token makes an identifier from outside safe for a log line and a metric: at most 128 bytes,
// printable ASCII without spaces.
func Token(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '_'
		}
		return r
	}, sentence.Clip(s, 128))
}

// The longest prose of a refusal that is kept, and of anything else, in bytes.
const (
	maxRefusal = 600
	maxMessage = 300
)

// Doubtful reports whether a status proves nothing, whatever code the body has: the fault may have
// come after the platform accepted the message.
func Doubtful(status int) bool {
	return status >= 500 || status < 200 || status == 408 || status == 409 || status == 499
}

func httpCode(status int) string { return "http_" + strconv.Itoa(status) }

// RetryAfter reads Retry-After (RFC 9110, section 10.2.3): seconds or a date. It returns at most
// one day.
func RetryAfter(h http.Header) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if s == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseFloat(s, 64); err == nil || errors.Is(err, strconv.ErrRange) {
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

// Unsendable returns the error of a message without a template, or whose recipient is not + and 7
// to 15 digits (https://www.itu.int/rec/T-REC-E.164), else nil. Without + the platform puts the
// sender's own country code in front, and a stranger may get the message
// (docs/service.md#phone-numbers).
func Unsendable(m *Message) *Error {
	if to := m.To; len(to) < 8 || len(to) > 16 || to[0] != '+' || to[1] == '0' || !allDigits(to[1:]) {
		return local(codeNotE164, nil)
	}
	if m.Template == nil {
		return Unencodable(errNoTemplate)
	}
	return nil
}

var errNoTemplate = errors.New("only template messages are sent")

// Unencodable is the error of a message that cannot be written.
func Unencodable(err error) *Error { return local(codeUnencodable, err) }

func local(code string, err error) *Error {
	r := ownRows[code]
	return &Error{Proof: NotSent, Action: r.Action, Hold: r.Hold, Code: code, Message: r.Sentence, Err: err}
}

// BadAnswer is the error of an answer to a call that sends no message, which is not what the call
// asks for. what says the call and the fault; err, if not nil, is the cause.
func BadAnswer(status int, requestID, what string, err error) *Error {
	if err != nil {
		what += ": " + reason(err)
	}
	return &Error{Proof: NotSent, Action: RetryLater, Status: status, Code: codeBadAnswer, RequestID: requestID, Err: err,
		Message: Scrub(what, maxMessage)}
}
