package sandbox

import "time"

// EventForm is the form of webhooks, where the document does not show it (docs/service.md#events).
type EventForm struct {
	// Envelope is service (docs/service.md#assumptions) or platform. Default service.
	Envelope string `yaml:"envelope"`
	// Batch is the largest number of events in one POST, at most 1,000. Default 1, without an array.
	Batch int `yaml:"batch"`
	// BatchObject posts {"events": [...]} instead of a JSON array.
	BatchObject bool `yaml:"batch_object"`
	// Linger is how long a batch waits to fill. Default 100 ms.
	Linger time.Duration `yaml:"linger"`
	// Timestamps is rfc3339, unix (an integer) or unix_string. Default rfc3339, and unix_string in the
	// platform's envelope.
	Timestamps string `yaml:"timestamps"`
	// OmitRecipient leaves `to` out of statuses.
	OmitRecipient bool `yaml:"omit_recipient"`
	// OmitConnection leaves `connectionId` out of events.
	OmitConnection bool `yaml:"omit_connection"`

	// OmitTime leaves the time out of events that are not statuses.
	OmitTime bool `yaml:"omit_time"`

	// SignaturePrefix is the text before the signature, for example "sha256=". Default none.
	SignaturePrefix string `yaml:"signature_prefix"`
	// SignatureEncoding is hex or base64. Default hex.
	SignatureEncoding string `yaml:"signature_encoding"`
	// SignatureTimestamp names the header of the posting's Unix seconds; the signature is then over
	// TIMESTAMP.BODY. If the name is X-Service-Signature, that header begins with t=SECONDS. Default
	// none: the signature is over the body.
	SignatureTimestamp string `yaml:"signature_timestamp"`

	header string // with the signature
}

// History is the past of the accounts: Days before the start have invented counts of messages.
type History struct {
	Days int `yaml:"days"`
}

// ThrottleAnswer is the answer to a message above the throughput of a number.
type ThrottleAnswer string

// The three answers that services give for this condition (docs/service.md#assumptions).
const (
	ThrottlePlatform   ThrottleAnswer = "platform"         // 400 send_retryable, meta.code 130429
	ThrottleHTTP       ThrottleAnswer = "http"             // 429 without a body
	ThrottleRetryAfter ThrottleAnswer = "http_retry_after" // 429 with Retry-After
)

// Step is a change while the sandbox runs. It happens once: After the start of Run, or when
// AfterMessages messages are accepted. Exactly one of the two is set.
type Step struct {
	After         time.Duration `yaml:"after"`
	AfterMessages int64         `yaml:"after_messages"`
	// Template changes to Status in Language, as by SetTemplate.
	Template string `yaml:"template"`
	Language string `yaml:"language"`
	// Company changes to Status, which is suspended or active.
	Company string `yaml:"company"`
	// Account names a company whose business account changes to Status, as by SetAccount.
	Account string `yaml:"account"`
	// Connection changes to Quality, as by SetQuality, or to Status, as by SetNumber.
	Connection string `yaml:"connection"`
	Quality    string `yaml:"quality"`
	Status     string `yaml:"status"`
	// Allowance is how many more messages the plan accepts, as by SetAllowance; of Company, if that is
	// given.
	Allowance *int64 `yaml:"allowance"`
	// Event is posted, as by Announce.
	Event *Announcement `yaml:"event"`
	// Faults replaces all faults.
	Faults *Faults `yaml:"faults"`
}

// Event is something that happened in the sandbox, for OnEvent.
type Event struct {
	At time.Time
	// Kind is post, accepted, refused, lost or webhook.
	Kind       string
	Connection string
	// To is E.164.
	To        string
	MessageID string
	// Detail is the error of a refusal, the name of a fault, or the status and the HTTP answer of a
	// webhook.
	Detail string
}
