package sandbox

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// refusal is an answer of the table of errors (docs/service.md#errors).
type refusal struct {
	status int
	code   string
	prose  string
	meta   *meta
}

// meta is present if the platform refused the call (docs/service.md#error-object).
type meta struct {
	ErrorClass string `json:"errorClass"`
	Retryable  bool   `json:"retryable"`
	Code       int    `json:"code"`
	TraceID    string `json:"traceId,omitempty"`
}

// The service's own refusals. The document does not show those with *.
var (
	refuseFields      = refusal{400, "missing_fields", "connectionId and to are required.", nil}
	refuseContent     = refusal{400, "missing_content", "Pass exactly one content field.", nil}
	refuseTwoContents = refusal{400, "multiple_content", "Pass exactly one content field.", nil} // *
	refuseSender      = refusal{400, "recipient_is_sender", "to is the connection's own number.", nil}
	refuseMedia       = refusal{400, "invalid_media", "A media reference needs assetId, id or link.", nil}
	refuseLocation    = refusal{400, "invalid_location", "A location needs latitude and longitude.", nil}
	refuseButton      = refusal{400, "invalid_button", "A template button is one of url, quick_reply, copy_code, otp.", nil}
	refuseAllowance   = refusal{402, "plan_limit_messages", "The monthly message allowance is used up.", nil}
	refuseOptedOut    = refusal{403, "recipient_opted_out", "The recipient has opted out of marketing.", nil}
	refuseSuspended   = refusal{403, "account_deactivated", "The client is suspended.", nil}
	refuseBilling     = refusal{403, "partner_key_required", "Billing endpoints need a partner-wide key.", nil}
	refuseConnection  = refusal{404, "connection_not_found", "No such connection.", nil}
	refuseAsset       = refusal{404, "connection_not_found", "No such asset.", nil}
	refuseKey         = refusal{401, "unauthorized", "Invalid API key.", nil}          // *
	refusePath        = refusal{404, "not_found", "No such endpoint.", nil}            // *
	refuseMethod      = refusal{405, "method_not_allowed", "Method not allowed.", nil} // *
	refuseTooMany     = refusal{429, "rate_limited", "Too many requests.", nil}        // *
)

// refuseRequest is the answer to a body that the document does not describe. The document does not
// show this answer.
func refuseRequest(prose string) *refusal { return &refusal{400, "invalid_request", prose, nil} }

// platformCode is a code of the platform in the service's form.
type platformCode struct {
	class     string
	retryable bool
	title     string
}

// platformCodes are the codes of the platform (docs/service.md#error-actions). The document names
// the classes template, needs_template, recipient_permanent, retryable and media; the others are
// assumed.
var platformCodes = map[int]platformCode{
	1:      {"retryable", true, "API unknown"},
	2:      {"retryable", true, "API service"},
	3:      {"account", false, "API method"},
	4:      {"retryable", true, "API too many calls"},
	10:     {"account", false, "Permission denied"},
	33:     {"number", false, "Parameter value is not valid"},
	100:    {"parameter", false, "Invalid parameter"},
	190:    {"account", false, "Access token has expired"},
	368:    {"account", false, "Temporarily blocked for policies violations"},
	80007:  {"retryable", true, "Rate limit issues"},
	130429: {"retryable", true, "Throughput reached."},
	130472: {"recipient", false, "User's number is part of an experiment"},
	130497: {"recipient", false, "Business account is restricted from messaging users in this country."},
	131000: {"retryable", true, "Something went wrong."},
	131005: {"account", false, "Access denied"},
	131008: {"parameter", false, "Required parameter is missing"},
	131009: {"parameter", false, "Parameter value is not valid"},
	131016: {"retryable", true, "Service unavailable"},
	131021: {"parameter", false, "Recipient cannot be sender"},
	131026: {"recipient_permanent", false, "Message undeliverable"},
	131031: {"account", false, "Account has been locked"},
	131037: {"number", false, "Display name approval is needed"},
	131042: {"account", false, "Business eligibility payment issue"},
	131045: {"number", false, "Incorrect certificate"},
	131047: {"needs_template", false, "Re-engagement message"},
	131048: {"account", false, "Spam rate limit hit"},
	131049: {"recipient", false, "This message was not delivered to maintain healthy ecosystem engagement."},
	131050: {"recipient", false, "User has stopped marketing messages from this business."},
	131051: {"parameter", false, "Unsupported message type"},
	131053: {"media", false, "The media could not be processed."},
	131056: {"retryable", true, "Too many messages to this recipient."},
	131057: {"retryable", true, "Account in maintenance mode"},
	132000: {"parameter", false, "Number of parameters does not match."},
	132001: {"template", false, "Template does not exist in the translation"},
	132005: {"parameter", false, "Template hydrated text too long"},
	132007: {"parameter", false, "Template format character policy violated"},
	132012: {"parameter", false, "Template parameter format mismatch"},
	132015: {"template", false, "Template is paused"},
	132016: {"template", false, "Template is disabled"},
	132018: {"parameter", false, "Param text cannot have new-line/tab characters or more than 4 consecutive spaces"},
	133004: {"retryable", true, "Server temporarily unavailable"},
	133010: {"number", false, "Phone number not registered"},
	133016: {"retryable", true, "Account register deregister rate limit exceeded"},
	135000: {"parameter", false, "Generic user error"},
}

// titleOf is the platform's title of a code.
func titleOf(code int) string {
	if p, ok := platformCodes[code]; ok {
		return p.title
	}
	return "Platform error " + strconv.Itoa(code)
}

// platformRefusal is a refusal of the platform: error is send_<errorClass>, and meta contains code
// and traceId (rule 9 of docs/service.md#send-request).
func platformRefusal(code int, detail string) *refusal {
	p, ok := platformCodes[code]
	if !ok {
		p = platformCode{class: "policy", title: titleOf(code)}
	}
	prose := p.title
	if detail != "" {
		prose += ": " + detail
	}
	return &refusal{400, "send_" + p.class, prose, &meta{ErrorClass: p.class, Retryable: p.retryable, Code: code}}
}

// refuse writes a refusal. The traceId is made from the id of the request.
func refuse(w http.ResponseWriter, ref *refusal) {
	body := struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Meta    *meta  `json:"meta,omitempty"`
	}{ref.code, ref.prose, nil}
	if ref.meta != nil {
		m := *ref.meta
		m.TraceID = "trace_" + strings.TrimPrefix(w.Header().Get("X-Request-Id"), "req_")
		body.Meta = &m
	}
	writeJSON(w, ref.status, body)
}

// list is the form of every listing (docs/service.md#conventions).
type list[T any] struct {
	Data []T `json:"data"`
	// NextCursor names the next page. It is empty on the last page, and without Options.PageSize.
	NextCursor string `json:"nextCursor,omitempty"`
}

// writePage writes the page of a listing that ?cursor= names. The document shows no pages; without
// Options.PageSize the whole listing is one page.
func writePage[T any](s *Sandbox, w http.ResponseWriter, r *http.Request, all list[T]) {
	size, from := s.opt.PageSize, 0
	if size == 0 {
		writeJSON(w, http.StatusOK, all)
		return
	}
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(cursor, "/page+"))
		if err != nil || n <= 0 || n >= len(all.Data) {
			refuse(w, &refusal{400, "invalid_cursor", "List again from the beginning.", nil})
			return
		}
		from = n
	}
	if to := from + size; to < len(all.Data) {
		all.NextCursor = "/page+" + strconv.Itoa(to) // with characters that a URL must escape
		all.Data = all.Data[:to]
	}
	all.Data = all.Data[from:]
	writeJSON(w, http.StatusOK, all)
}

// single is the form of every other answer.
type single[T any] struct {
	Data T `json:"data"`
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil { // only a bug of the sandbox leads here
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeRaw(w, status, "application/json", raw)
}

func writeRaw(w http.ResponseWriter, status int, contentType string, raw []byte) {
	h := w.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(raw))}
	w.WriteHeader(status)
	_, _ = w.Write(raw) // an error means that the client has left
}
