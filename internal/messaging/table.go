package messaging

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is the meaning of a code in an answer that proves that nothing was accepted. For the code of
// a failed status it says what else must stop (docs/service.md#error-actions).
type row struct {
	Action Action
	Hold   Hold
	Feed   Feed
	// Wait is how long to wait, or to hold if EndedBy is EndedByTime.
	Wait     time.Duration
	EndedBy  EndedBy // what ends the hold
	Sentence string  // for the operator, without a full stop at its end
}

// Short names for the actions and holds of docs/service.md#error-actions.
func perm(s string) row     { return row{Action: Refuse, Feed: FeedUnreachable, Sentence: s} }
func blocked(s string) row  { return row{Action: Refuse, Feed: FeedBlocked, Sentence: s} }
func optOut(s string) row   { return row{Action: Refuse, Feed: FeedOptOut, Sentence: s} }
func skip(s string) row     { return row{Action: Refuse, Sentence: s} }
func fix(s string) row      { return row{Action: Refuse, Hold: HoldPayload, Sentence: s} }
func retry(s string) row    { return row{Action: RetryOnce, Sentence: s} }
func retryFix(s string) row { return row{Action: RetryOnce, Hold: HoldPayload, Sentence: s} }
func forNow(s string) row   { return row{Action: RefuseForNow, Hold: HoldPayload, Sentence: s} }
func unknown(s string) row  { return row{Action: RetryUnknown, Sentence: s} }

// slow stops the connection only if there is a wait. Throttling never counts as a try.
func slow(wait time.Duration, s string) row {
	if wait == 0 {
		return row{Action: Slow, Sentence: s}
	}
	return row{Action: Slow, Hold: HoldConnection, Wait: wait, EndedBy: EndedByTime, Sentence: s}
}

// hold stops a scope. The recipients stay queued until the hold ends: after the wait, else by the
// events of that scope.
func hold(what Hold, wait time.Duration, s string) row {
	r := row{Action: RetryLater, Hold: what, Wait: wait, Sentence: s}
	switch {
	case wait > 0:
		r.EndedBy = EndedByTime
	case what == HoldConnection:
		r.EndedBy = EndedByNumberEvent
	case what == HoldTemplate:
		r.EndedBy = EndedByTemplateEvent
	case what == HoldAccount, what == HoldCompany:
		r.EndedBy = EndedByAccountEvent
	default: // no event is about an API key
		r.EndedBy = EndedByOperator
	}
	return r
}

func holdConnection(wait time.Duration, s string) row { return hold(HoldConnection, wait, s) }
func holdTemplate(wait time.Duration, s string) row   { return hold(HoldTemplate, wait, s) }
func holdAccount(wait time.Duration, s string) row    { return hold(HoldAccount, wait, s) }
func holdCompany(wait time.Duration, s string) row    { return hold(HoldCompany, wait, s) }
func holdKey(s string) row                            { return hold(HoldKey, 0, s) }

// byOperator makes a hold that no event ends.
func byOperator(r row) row {
	r.EndedBy = EndedByOperator
	return r
}

// allowanceWait is how long a company waits after a 402. No event tells that the allowance is
// renewed, and a refused message costs nothing (docs/service.md#send-response).
const allowanceWait = time.Hour

// PlanUsedUp is the error code of an answer that says that the plan's allowance is used up.
const PlanUsedUp = "plan_limit_messages"

// platformRows has every platform code of docs/service.md#error-actions, by meta.code. The codes
// 200 to 299 share one row (see platformRow). Read only.
var platformRows = map[int]row{
	0:   holdConnection(0, "the platform's token of this connection is invalid"),
	1:   retryFix("the platform calls the request invalid or has failed itself"),
	2:   holdConnection(5*time.Minute, "the platform is down or overloaded"),
	3:   holdConnection(0, "the connection lacks a capability or permission"),
	4:   slow(time.Minute, "the platform's call limit of the app is reached"),
	10:  holdConnection(0, "permission denied by the platform"),
	33:  byOperator(holdConnection(0, "the business number has been deleted")),
	100: fix("a parameter is not supported or misspelt"),
	190: holdConnection(0, "the platform's access token of this connection has expired"),
	200: holdConnection(0, "a platform permission is missing or was removed"),
	368: holdAccount(0, "the business account is restricted or disabled for policy violations"),

	80007: slow(10*time.Minute, "the business account's limit of platform calls is reached"),

	130429: slow(0, "the number's throughput is reached"),
	130472: skip("the recipient is in an experiment of the platform; the same message again gives the same answer"),
	130497: skip("the account may not message people in this country"),

	131000: retry("the platform had an unknown fault"),
	131005: holdConnection(0, "access denied by the platform"),
	131008: fix("a required parameter is missing"),
	131009: fix("a parameter's value is not valid"),
	131014: retryFix("the platform could not fetch the media from its address"),
	131016: retry("the platform's service is temporarily unavailable"),
	131021: skip("the recipient is the sender's own number"),
	131026: perm("undeliverable: not on the platform, terms not accepted, or a client too old"),
	131030: holdConnection(0, "the number is in test mode and the recipient not on its list"),
	131031: holdAccount(0, "the business account is locked"),
	131037: holdConnection(0, "the number's display name is not approved"),
	131042: holdAccount(0, "the business account has a payment or eligibility problem"),
	131044: skip("a payment problem that concerns calls only"),
	131045: holdConnection(0, "the number is not registered correctly"),
	131047: skip("more than 24 hours since the customer wrote: only a template reaches them"),
	131048: holdConnection(0, "the number is restricted because people blocked or reported it; check its quality before going on"),
	131049: skip("the platform limits marketing to this person; try again after 24 hours at the earliest"),
	131050: optOut("the recipient has stopped marketing from this business"),
	131051: fix("the message type is not supported"),
	131052: skip("media that a customer sent could not be downloaded"),
	131053: retryFix("the media could not be processed, most often because its type does not match"),
	131055: fix("the method is allowed for the marketing API only"),
	131056: {Action: WaitPair, Sentence: "too many messages to this recipient within a short time"},
	131057: holdConnection(90*time.Second, "the number is in maintenance, for example while its throughput is raised"),
	131059: skip("a listing's cursor is no longer valid; list again from the beginning"),
	131062: fix("this message needs a phone number, not a user id"),
	131063: byOperator(holdTemplate(0, "marketing templates are disabled for this account")),
	131064: holdAccount(24*time.Hour, "the account reached its messaging limit because templates were put in the wrong category"),

	132000: fix("the number of variables does not match the template"),
	132001: holdTemplate(0, "the template does not exist in this language or is not approved"),
	132005: fix("the text is too long once the variables are filled in"),
	132007: fix("a character of the text violates the format policy"),
	132008: fix("a variable's value is not valid"),
	132012: fix("a variable's format does not match the template"),
	132015: holdTemplate(0, "the template is not sendable: paused for low quality, disabled, rejected or pending"),
	132016: holdTemplate(0, "the template is disabled for good"),
	132018: fix("a variable holds a new line, a tab or more than four spaces in a row"),
	132068: holdTemplate(0, "the template's flow is blocked"),
	132069: holdTemplate(time.Hour, "the template's flow is throttled to ten messages an hour"),

	133000: holdConnection(0, "an earlier deregistration of the number is incomplete"),
	133004: retry("the platform's server is temporarily unavailable"),
	133005: holdConnection(0, "the number's registration PIN does not match"),
	133006: holdConnection(0, "the number must be verified before it is registered"),
	133008: holdConnection(0, "too many wrong PINs for this number"),
	133009: holdConnection(0, "PINs were entered too quickly for this number"),
	133010: holdConnection(0, "the number is not registered on the platform"),
	133015: holdConnection(0, "the number was deregistered a moment ago"),
	133016: slow(10*time.Minute, "too many registrations of this number"),

	134011: fix("the terms of service for payments are not accepted"),
	134100: holdTemplate(10*time.Minute, "the marketing API takes marketing templates only"),
	134101: holdTemplate(10*time.Minute, "the template is still being synchronised"),
	134102: holdTemplate(10*time.Minute, "the template is not available to the marketing API yet"),

	135000: retryFix("the platform found an unnamed fault in the parameters"),
	137000: skip("the recipient's identity key has changed"),
	139200: holdTemplate(0, "the platform blocks direct sending of this template"),
	141002: holdTemplate(0, "the template is not approved"),

	// These codes come from the creation of templates; a send never gets them.
	2388019: fix("the business account has reached its number of templates"),
	2388040: fix("a field of the template is too long"),
	2388047: fix("the template's header is not in the right format"),
	2388072: fix("the template's body is not in the right format"),
	2388073: fix("the template's footer is not in the right format"),
	2388293: fix("the template has too many variables for its length"),
	2388299: fix("the template begins or ends with a variable"),
}

// subcodeRows has the codes whose meaning depends on error_subcode, as CODE/SUBCODE. Read only.
var subcodeRows = map[string]row{
	AppSecretRefused: byOperator(holdAccount(0,
		"the app's secret is missing or not that of the token's app: the platform refuses appsecret_proof")),
	"100/33": byOperator(holdConnection(0, "the number's id does not exist, or the token may not use it")),
}

// platformRow finds the row of meta.code. Error.Platform is 0 without a code; call platformRow with
// 0 only if the answer had the code 0.
func platformRow(code int) (row, bool) {
	if code > 200 && code <= 299 { // one row for the range
		code = 200
	}
	r, ok := platformRows[code]
	return r, ok
}

// serviceRows has every `error` of docs/service.md#errors. Read only.
var serviceRows = map[string]row{
	"missing_fields":           fix("connectionId or to is missing"),
	"missing_content":          fix("the message has no content"),
	"recipient_is_sender":      skip("the recipient is the connection's own number"),
	"invalid_media":            fix("a media reference has neither assetId, id nor link"),
	"invalid_location":         fix("a location lacks latitude or longitude"),
	"invalid_button":           fix("a template button is not one of url, quick_reply, copy_code, otp"),
	"send_template":            holdTemplate(0, "the template is not sendable: paused, disabled, rejected or pending"),
	"send_needs_template":      skip("the 24-hour window is closed: only a template reaches this recipient"),
	"send_recipient_permanent": perm("the recipient cannot be reached on the platform"),
	"send_retryable":           retry("the platform refused for the moment"),
	"send_media":               retryFix("the platform could not process the media"),
	PlanUsedUp:                 holdCompany(allowanceWait, "the plan's monthly message allowance is used up"),
	"recipient_opted_out":      optOut("the recipient has opted out of marketing"),
	"recipient_blocked":        blocked("the recipient is blocked at the service"),
	"account_deactivated":      holdCompany(0, "the company is suspended"),
	"partner_key_required":     skip("this call needs a partner-wide key"),
	NotFound: holdConnection(0,
		"the connection is unknown or outside the key's scope, or the message's asset is unknown or older than 30 days"),
}

// ownRows has the codes of this package. If the service uses such a word as its `error`, the row
// does not apply. Read only.
var ownRows = map[string]row{
	codeNotConnected: {Action: RetryLater, Sentence: "the service could not be reached; nothing was sent"},
	codeNotE164:      fix("the recipient is not an international number with + in front"),
	codeUnencodable:  fix("the message cannot be written as JSON"),
	codeCDN:          holdKey("the CDN refuses this User-Agent; set service.user_agent"),
	codeRedirect:     holdKey("the service answered with a redirect: base_url must be https, without a trailing slash"),
	codeTimeOut:      {Sentence: "the service did not answer in time; the message may have been sent"},
	codeReset:        {Sentence: "the connection broke before the answer; the message may have been sent"},
	codeCancelled:    {Sentence: "the request was given up after it had been written; the message may have been sent"},
	codeBadAnswer:    {Sentence: "the answer was not HTTP; the message may have been sent"},
	codeAcceptedNoID: {Sentence: "the service accepted the message but its answer holds no usable id"},
	codeNotService:   {Sentence: "the answer is a success but not the service's, such as a page of a proxy; the message may have been sent"},
}

// NotFound is an error code with two meanings (docs/service.md#errors); see Error.Blame.
const NotFound = "connection_not_found"

// The codes of this package, for exchanges without an `error` of the service.
const (
	codeNotConnected = "not_connected"
	codeNotE164      = "not_e164"
	codeUnencodable  = "unencodable"
	codeCDN          = "cdn_1010"
	codeRedirect     = "redirect"
	codeTimeOut      = "time_out"
	codeReset        = "reset"
	codeCancelled    = "cancelled"
	codeBadAnswer    = "bad_answer"
	codeAcceptedNoID = "accepted_no_id"
	codeNotService   = "not_the_service"
)

// statusRow is the row of an answer whose body says nothing known. json is false if the body is not
// a JSON object; such an answer comes from a proxy or CDN in front of the service.
func statusRow(status int, json bool) row {
	switch {
	case status >= 300 && status < 400:
		return ownRows[codeRedirect]
	case status == 401:
		return holdKey("the API key is not valid")
	case status == 402:
		return holdCompany(allowanceWait, "the subscription does not allow sending")
	case status == 429:
		return slow(0, "the service's rate limit is reached")
	case status == 413 || status == 431:
		return fix("the message is too large for the service")
	case (status == 400 || status == 422) && json:
		return forNow("the service calls the request invalid")
	}
	return unknown("an answer that the service's document does not name; it may come from a firewall or a proxy in front of the service")
}

func namedRow(code string) (row, bool) {
	if r, ok := serviceRows[code]; ok {
		return r, true
	}
	if r, ok := subcodeRows[code]; ok {
		return r, true
	}
	r, ok := ownRows[code]
	return r, ok
}

// Sentence explains a code in words. The code is an `error` of the service, a platform code in
// decimal, or a code of this package (time_out, http_502). Every code has a sentence.
func Sentence(code string) string { return rowOf(code).Sentence }

// rowOf returns the row of a code in one of the forms of Sentence. An unknown code has a row with
// nothing but a sentence.
func rowOf(code string) row {
	if r, ok := namedRow(code); ok {
		return r
	}
	if n, err := strconv.Atoi(code); err == nil {
		if r, ok := platformRow(n); ok {
			return r
		}
		return row{Sentence: "the platform refused with a code that is not in its table"}
	}
	s, _ := strings.CutPrefix(code, "http_")
	switch n, err := strconv.Atoi(s); {
	case err == nil && Doubtful(n):
		return row{Sentence: "the service or a proxy in front of it failed; the message may have been sent"}
	case err == nil:
		return statusRow(n, true)
	case strings.HasPrefix(code, "send_"):
		return row{Sentence: "the platform refused the message"}
	}
	return row{Sentence: "the service refused with a code that is not in its document"}
}

// EndOf returns what ends the hold of a code, which has one of the forms of Sentence.
func EndOf(code string) EndedBy { return rowOf(code).EndedBy }

// AppSecretRefused is the code of a call that has no proof of the app's secret, or a wrong one. The
// platform gives it the code of any wrong parameter (100), and no subcode.
const AppSecretRefused = "100/appsecret_proof" //nolint:gosec // a code

// TokenCodes are the codes of the platform that another access token or app secret may mend: the
// token is invalid or has expired, it lacks a permission, or the secret is of another app
// (docs/cloud.md#errors).
var TokenCodes = []string{"0", "3", "10", "190", "200", AppSecretRefused}

// triedCodes are the codes of the platform whose cause only a person can remove, such as a missing
// payment, and after whose end no event comes over the Cloud API. No code of a ban, a restriction
// or a deletion is among them.
var triedCodes = []string{"131005", "131030", "131031", "131037", "131042", "131045", "133010"}

// Tried reports whether the hold of a code is tried with one row from time to time over the Cloud
// API (docs/protocol.md#holds).
func Tried(code string) bool { return slices.Contains(triedCodes, code) }

// Failure is what a failed status means beyond its own delivery. It has no Action, because a
// message that failed is never sent again.
type Failure struct {
	Feed     Feed
	Hold     Hold
	Wait     time.Duration
	EndedBy  EndedBy
	Sentence string
	// Throttles means that the number was too fast.
	Throttles bool
}

// FaultOfMessage reports whether the code of a failed status, "" for none, may be a fault of what
// was sent, or of the platform: one that other recipients will have too, and that begins no hold.
func FaultOfMessage(code string) bool {
	r := rowOf(code)
	return r.Hold == HoldPayload || r.Action == RetryOnce || r.Action == 0
}

// Failed looks up the code of a failed status (docs/service.md#statuses). Throttling without a wait
// holds nothing here: the limiter learns from the answers to sends.
func Failed(code int) Failure {
	r := rowOf(strconv.Itoa(code))
	return Failure{Feed: r.Feed, Hold: r.Hold, Wait: r.Wait, EndedBy: r.EndedBy, Sentence: r.Sentence, Throttles: r.Action == Slow}
}
