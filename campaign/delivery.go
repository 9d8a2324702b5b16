package campaign

import "time"

// Status is where a delivery stands, as a report shows it. Each delivery has
// exactly one at any moment, so the counts of all statuses add up to the rows
// of the list.
type Status string

// The statuses of docs/states.md.
const (
	Queued    Status = "queued"    // not posted yet, or refused for now and waiting for its next try
	Sending   Status = "sending"   // an intent is committed and its owner is alive
	InDoubt   Status = "in_doubt"  // may have been posted; nobody knows yet
	Accepted  Status = "accepted"  // the service answered with a messageId
	Sent      Status = "sent"      // status webhook
	Delivered Status = "delivered" // status webhook
	Read      Status = "read"      // status webhook
	Failed    Status = "failed"    // status webhook, and neither delivered nor read is known
	Refused   Status = "refused"   // the service refused it for good: definitely not sent
	Skipped   Status = "skipped"   // never posted, for a SkipReason
	Unknown   Status = "unknown"   // a doubt whose window ended without evidence
)

// Statuses lists every Status in the order of reports.
var Statuses = []Status{Queued, Sending, Accepted, Sent, Delivered, Read, Failed, Refused, Skipped, InDoubt, Unknown}

// Open reports whether a run still has work or doubt in this status. `run`
// exits with 3 exactly when a row ends Open or Unknown.
func (s Status) Open() bool { return s == Queued || s == Sending || s == InDoubt }

// Delivery is one recipient in one run: the immutable part of its row in the
// ledger, written once by the import.
type Delivery struct {
	Run   RunNo
	Seq   int64    // order of sending, from 0; unique in the run
	Row   int64    // record number in the file, from 1, the header not counted; unique in the run
	To    string   // E.164 with the leading +; what the file said when it is not a number (then Skip is set)
	Key   int64    // recipients.Key of To: what duplicates, STOP and adoption compare; 0 when To is no number
	Cells []string // the row's cells as read, in the order of Run.Header

	Skip SkipReason // set when the import decided that it is never posted
	Note string     // the sentence behind Skip for this row, with line and column; may be empty
}

// SkipReason says why a delivery is never posted. The list is closed; each has
// a sentence (Sentence) and is a metric label.
type SkipReason string

// The closed list of design section 4.
const (
	MalformedRow       SkipReason = "malformed_row"
	MissingPhone       SkipReason = "missing_phone"
	InvalidPhone       SkipReason = "invalid_phone"
	Duplicate          SkipReason = "duplicate"
	MissingVariable    SkipReason = "missing_variable"
	InvalidVariable    SkipReason = "invalid_variable"
	OptedOut           SkipReason = "opted_out"
	Suppressed         SkipReason = "suppressed"
	Unreachable        SkipReason = "unreachable"
	RecipientIsSender  SkipReason = "recipient_is_sender"
	UnsupportedCountry SkipReason = "unsupported_country"
	FrequencyCap       SkipReason = "frequency_cap"
	OverLimit          SkipReason = "over_limit"
	HeldOut            SkipReason = "held_out"
	Blocked            SkipReason = "blocked"
	Expired            SkipReason = "expired"
	RunFailed          SkipReason = "run_failed"
	RunCancelled       SkipReason = "cancelled"
)

var skipSentences = map[SkipReason]string{
	MalformedRow:       "the row cannot be read as a record of this file",
	MissingPhone:       "the row has no phone number",
	InvalidPhone:       "the phone number is not a valid international number",
	Duplicate:          "the same number stands in an earlier row of this list",
	MissingVariable:    "a variable of the template has no value in this row",
	InvalidVariable:    "a variable's value is not allowed in a template",
	OptedOut:           "the recipient opted out of marketing messages",
	Suppressed:         "the number is on the suppression list",
	Unreachable:        "the number was reported unreachable not long ago",
	RecipientIsSender:  "the number is one of the campaign's own senders",
	UnsupportedCountry: "the platform does not deliver to this country",
	FrequencyCap:       "the recipient already got as many messages as the campaign's frequency cap allows",
	OverLimit:          "the campaign's max_messages was reached",
	HeldOut:            "the recipient is in the hold-out group",
	Blocked:            "the recipient is blocked on this number",
	Expired:            "the campaign's not_after passed before this row was sent",
	RunFailed:          "the run failed before this row was sent",
	RunCancelled:       "the run was cancelled before this row was sent",
}

// SkipReasons lists the closed list in the order of design section 4.
var SkipReasons = []SkipReason{
	MalformedRow, MissingPhone, InvalidPhone, Duplicate, MissingVariable, InvalidVariable, OptedOut, Suppressed, Unreachable,
	RecipientIsSender, UnsupportedCountry, FrequencyCap, OverLimit, HeldOut, Blocked, Expired, RunFailed, RunCancelled,
}

// Sentence says the reason to a person.
func (r SkipReason) Sentence() string { return skipSentences[r] }

// Line is a delivery with all that is known of it: what reports are made of.
type Line struct {
	Delivery
	Status     Status
	Connection string // "" until the segment's first intent
	Reason     string // SkipReason, or why it waits, or why it is in doubt
	Code       string // the service's error (refused), the platform's code (failed); "" otherwise
	MessageID  string
	Attempts   int
	Adopted    bool // accepted on the evidence of a webhook, not of an answer
	AcceptedAt time.Time
	SentAt     time.Time
	DeliveredAt,
	ReadAt,
	FailedAt time.Time
	RequestID string // x-request-id of a refusal or doubt
	TraceID   string // meta.traceId of a refusal or doubt
}
