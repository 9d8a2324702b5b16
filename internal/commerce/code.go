package commerce

// Code says why a request had no result. Each has one sentence and a remedy
// (docs/commerce.md#errors).
type Code string

// The codes.
const (
	CodeKeyMissing       Code = "key_missing"
	CodeKeyInvalid       Code = "key_invalid"
	CodeSandboxKey       Code = "sandbox_key"
	CodeCompanyMissing   Code = "company_missing"
	CodeDenied           Code = "denied"
	CodeNotFound         Code = "not_found"
	CodeNoLink           Code = "no_payment_link"
	CodeInvalid          Code = "invalid"
	CodeNothingDue       Code = "nothing_due"
	CodeRateLimited      Code = "rate_limited"
	CodeServer           Code = "server_error"
	CodeRedirect         Code = "redirect"
	CodeBadAnswer        Code = "bad_answer"
	CodeTooLong          Code = "answer_too_long"
	CodeTimeOut          Code = "time_out"
	CodeUnreachable      Code = "unreachable"
	CodeForeignPage      Code = "foreign_page"
	CodeNotConnected     Code = "not_connected"
	CodeExchangeRefused  Code = "exchange_refused"
	CodeCallbackUnsigned Code = "callback_unsigned"
	CodeCallbackForged   Code = "callback_forged"
	CodeCallbackStale    Code = "callback_stale"
	CodeCallbackCompany  Code = "callback_company"
	CodeCallbackNoCode   Code = "callback_without_code"
)

// meaning is what is known of a code.
type meaning struct {
	sentence, remedy string
	// temporary means that the same request may succeed later.
	temporary bool
}

// meanings has every code (docs/commerce.md#errors).
var meanings = map[Code]meaning{
	CodeKeyMissing: {sentence: "the commerce platform got no API key and no token",
		remedy: "set commerce.api_key or commerce.access_token, or run `campaignd commerce connect`"},
	CodeKeyInvalid: {sentence: "the commerce platform refuses the key or the token: it is wrong, expired or revoked",
		remedy: "make a new key in its dashboard under Settings, API Keys, or run `campaignd commerce connect`"},
	CodeSandboxKey: {sentence: "the key is one of the commerce platform's sandbox, and the address is the live one",
		remedy: "use a live key, or the sandbox's address as commerce.base_url"},
	CodeCompanyMissing: {sentence: "the commerce platform got no company",
		remedy: "set commerce.company, and check commerce.assumed.company_header"},
	CodeDenied: {sentence: "the key or the token may not do this for the company",
		remedy: "use the key of the company in commerce.company"},
	CodeNotFound: {sentence: "the commerce platform has no such record or route",
		remedy: "check commerce.company, commerce.shop and the paths of commerce.assumed"},
	CodeNoLink: {sentence: "the commerce platform could make no payment link for the order",
		remedy: "check that an amount is due, and that its payment method makes links"},
	CodeInvalid: {sentence: "the commerce platform refuses the request as invalid",
		remedy: "check commerce.assumed against the platform"},
	CodeNothingDue: {sentence: "the commerce platform refuses the payment: nothing is due, or the order has ended",
		remedy: "look at the order in the platform"},
	CodeRateLimited: {sentence: "the commerce platform asks for fewer requests", temporary: true,
		remedy: "wait, or lower commerce.rate"},
	CodeServer: {sentence: "the commerce platform had an internal error", temporary: true,
		remedy: "wait; if it stays, ask the platform"},
	CodeRedirect: {sentence: "the commerce platform answers with a redirect, which is not followed",
		remedy: "give its final address as commerce.base_url"},
	CodeBadAnswer: {sentence: "the answer of the commerce platform is not in the documented form",
		remedy: "check that commerce.base_url is the platform's API"},
	CodeTooLong: {sentence: "the answer is longer than 8 MiB",
		remedy: "lower commerce.assumed.page_size"},
	CodeTimeOut: {sentence: "the commerce platform did not answer in time", temporary: true,
		remedy: "check the network, or raise commerce.timeout"},
	CodeUnreachable: {sentence: "the commerce platform cannot be reached", temporary: true,
		remedy: "check commerce.base_url, DNS and the firewall"},
	CodeForeignPage: {sentence: "the next page has another address than the list, which is not followed",
		remedy: "check that commerce.base_url is the address that the platform gives itself"},
	CodeNotConnected: {sentence: "no company has installed the application yet",
		remedy: "run `campaignd commerce connect`"},
	CodeExchangeRefused: {sentence: "the commerce platform refuses the code: it was used, is too old, or is for another application",
		remedy: "install the application again"},
	CodeCallbackUnsigned: {sentence: "the callback has no hmac", remedy: "install the application from the commerce platform"},
	CodeCallbackForged: {sentence: "the hmac of the callback does not match",
		remedy: "check commerce.client_secret"},
	CodeCallbackStale: {sentence: "the time of the callback is missing, or more than 5 minutes from now",
		remedy: "install the application again, and check this machine's clock"},
	CodeCallbackCompany: {sentence: "the callback is for another company than commerce.company",
		remedy: "install the application for that company"},
	CodeCallbackNoCode: {sentence: "the callback has no code", remedy: "install the application again"},
}

// Sentence explains a code in a sentence without a full stop; "" for text that is no code.
func (c Code) Sentence() string { return meanings[c].sentence }

// Remedy says what to do about a code; "" for text that is no code.
func (c Code) Remedy() string { return meanings[c].remedy }
