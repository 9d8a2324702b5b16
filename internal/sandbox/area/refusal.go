package area

import "strconv"

// Refusal is an answer of the table of errors (docs/service.md#errors).
type Refusal struct {
	Status int
	Code   string
	Prose  string
	Meta   *Meta
}

// Meta is present if the platform refused the call (docs/service.md#error-object).
type Meta struct {
	ErrorClass string `json:"errorClass"`
	Retryable  bool   `json:"retryable"`
	Code       int    `json:"code"`
	Subcode    int    `json:"error_subcode,omitempty"`
	TraceID    string `json:"traceId,omitempty"`
}

// Refuse returns a refusal of the service.
func Refuse(status int, code, prose string) *Refusal {
	return &Refusal{Status: status, Code: code, Prose: prose}
}

// The refusals of every operation (docs/service.md#assumed-operations).
var (
	RefuseSuspended  = Refusal{403, "account_deactivated", "The client is suspended.", nil}
	RefuseConnection = Refusal{404, "connection_not_found", "No such connection.", nil}
)

// missing is the answer to a request without a required field.
func missing(prose string) *Refusal { return &Refusal{400, "missing_fields", prose, nil} }

// invalid is the answer to a value against a rule. prose names both.
func invalid(prose string) *Refusal { return &Refusal{400, "invalid_field", prose, nil} }

// notFound is the answer to an id that is unknown, or that another client has.
func notFound(what string) *Refusal { return &Refusal{404, "not_found", "No such " + what + ".", nil} }

// conflict is the answer to a request that the state of the record does not allow.
func conflict(code, prose string) *Refusal { return &Refusal{409, code, prose, nil} }

// overLimit is the answer to a record that would be one too many.
func overLimit(prose string) *Refusal { return conflict("limit_reached", prose) }

// RefuseRequest is the answer to a body that the document does not describe. The document does not
// show this answer.
func RefuseRequest(prose string) *Refusal { return &Refusal{400, "invalid_request", prose, nil} }

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

// TitleOf is the platform's title of a code.
func TitleOf(code int) string {
	if p, ok := platformCodes[code]; ok {
		return p.title
	}
	return "Platform error " + strconv.Itoa(code)
}

// RefusePlatform is a refusal of the platform: error is send_<errorClass>, and meta contains code
// and traceId (rule 9 of docs/service.md#send-request).
func RefusePlatform(code int, detail string) *Refusal {
	p, ok := platformCodes[code]
	if !ok {
		p = platformCode{class: "policy", title: TitleOf(code)}
	}
	prose := p.title
	if detail != "" {
		prose += ": " + detail
	}
	return &Refusal{400, "send_" + p.class, prose, &Meta{ErrorClass: p.class, Retryable: p.retryable, Code: code}}
}
