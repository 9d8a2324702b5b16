package campaign

import "time"

// Status is the state of a delivery, as reports show it. Each delivery has exactly one status at
// any moment, so the counts of all statuses add up to the rows of the list.
type Status string

// The statuses of docs/states.md#a-delivery.
const (
	Queued    Status = "queued"    // not posted yet, or refused for now and waiting for the next attempt
	Sending   Status = "sending"   // an intent is committed and its owner is alive
	InDoubt   Status = "in_doubt"  // may have been posted; not proven yet
	Accepted  Status = "accepted"  // the service answered with a messageId
	Sent      Status = "sent"      // a webhook said so
	Delivered Status = "delivered" // a webhook said so
	Read      Status = "read"      // a webhook said so
	Failed    Status = "failed"    // a webhook said so, and neither delivered nor read is known
	Refused   Status = "refused"   // the service refused it for good: definitely not sent
	Skipped   Status = "skipped"   // not sent, for a SkipReason: never posted, or refused for now each time
	Unknown   Status = "unknown"   // may have been sent, and nothing but a late event or answer can tell
)

// Statuses lists every Status in the order of reports.
var Statuses = []Status{Queued, Sending, Accepted, Sent, Delivered, Read, Failed, Refused, Skipped, InDoubt, Unknown}

// Delivery is one recipient in one run: the immutable part of its row in the ledger, written once
// by the import.
type Delivery struct {
	Run RunNo
	// Seq is the order of sending, from 0; unique in the run.
	Seq int64
	// Row is the number of the record in the list, from 1, without the header; unique in the run.
	Row int64
	// To is E.164 with the leading +, or the cell of the list when that is not a number.
	To string
	// Key is recipients.Key of To: duplicates, opt-outs and adoption compare it. 0 without a number.
	Key int64
	// Cells are the row's cells as read, in the order of Run.Header.
	Cells []string

	// Skip is set when the import decided that the row is never posted.
	Skip SkipReason
	// Note is the sentence behind Skip for this row, with line and column; it may be empty.
	Note string
}

// SkipReason is why a delivery is not sent. The list is closed. Each reason has a sentence
// (Sentence) and is a metric label.
type SkipReason string

// The reasons of docs/states.md#why-a-row-is-skipped.
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
	Filtered           SkipReason = "filtered"
	NoConsent          SkipReason = "no_consent"
	OtherLanguage      SkipReason = "other_language"
	NoPaymentLink      SkipReason = "no_payment_link"
	FrequencyCap       SkipReason = "frequency_cap"
	SentBefore         SkipReason = "sent_before"
	OverLimit          SkipReason = "over_limit"
	HeldOut            SkipReason = "holdout"
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
	InvalidVariable:    "a variable's value is not allowed in a template, or the campaign forbids it",
	OptedOut:           "the recipient opted out of marketing messages",
	Suppressed:         "the number is on the suppression list",
	Unreachable:        "the number was reported unreachable not long ago",
	RecipientIsSender:  "the number is one of the campaign's own senders",
	UnsupportedCountry: "the platform does not deliver to this country",
	Filtered:           "the row has no value that the campaign's recipients.where names",
	NoConsent:          "the customer did not agree to messages",
	OtherLanguage:      "the customer reads another language than the template's",
	NoPaymentLink:      "the order has no payment link that the template's button can carry",
	FrequencyCap:       "the recipient already got as many messages as the campaign's frequency cap allows",
	SentBefore:         "another run sent this template to the recipient, may have sent it, or is about to",
	OverLimit:          "the campaign's max_messages was reached",
	HeldOut:            "the recipient is in the hold-out group",
	Blocked:            "the recipient is blocked on this number",
	Expired:            "the campaign's not_after passed before this row was sent",
	RunFailed:          "the run failed before this row was sent",
	RunCancelled:       "the run was cancelled before this row was sent",
}

// SkipReasons is the closed list (docs/states.md#why-a-row-is-skipped).
var SkipReasons = []SkipReason{
	MalformedRow, MissingPhone, InvalidPhone, Duplicate, MissingVariable, InvalidVariable, OptedOut, Suppressed, Unreachable,
	RecipientIsSender, UnsupportedCountry, Filtered, NoConsent, OtherLanguage, NoPaymentLink, FrequencyCap, SentBefore, OverLimit,
	HeldOut, Blocked, Expired, RunFailed, RunCancelled,
}

// Sentence is the reason in words for a person.
func (r SkipReason) Sentence() string { return skipSentences[r] }

// Correctable reports whether a correction of the row can help: the row's number is then not sent
// to, unless another row of the list has it.
func (r SkipReason) Correctable() bool {
	switch r {
	case MalformedRow, MissingPhone, InvalidPhone, MissingVariable, InvalidVariable:
		return true
	}
	return false
}

// Line is a delivery with everything that is known of it, for reports.
type Line struct {
	Delivery
	Status     Status
	Connection string // "" until the segment's first intent
	Reason     string // the SkipReason, or why the row waits or is in doubt
	Code       string // the service's error (refused) or the platform's code (failed); "" otherwise
	MessageID  string
	Attempts   int
	Adopted    bool // a webhook proved the acceptance, not an answer
	AcceptedAt time.Time
	SentAt     time.Time
	DeliveredAt,
	ReadAt,
	FailedAt time.Time
	// DoubtSince is when the doubt of a row began that is in doubt or unknown.
	DoubtSince time.Time
	RequestID  string // x-request-id of a refusal or doubt
	TraceID    string // meta.traceId of a refusal or doubt
	Price      Price
}

// NoCode stands for the missing code of a failure or refusal, in totals and filters.
const NoCode = "no_code"

// Restored is the reason of a doubt that a quarantine made: perhaps the message was sent in the
// lost time, perhaps never.
const Restored = "restored"

// HasCode reports whether the row has a code; of NoCode, whether it failed or was refused without
// one.
func (l *Line) HasCode(code string) bool {
	if code == NoCode {
		return l.Code == "" && (l.Status == Failed || l.Status == Refused)
	}
	return l.Code == code
}

// Reject is a row that will not be sent.
type Reject struct {
	Row    int64      `json:"row"`  // number of the record, from 1
	Line   int        `json:"line"` // line of the file
	To     string     `json:"to"`
	Reason SkipReason `json:"reason"`
	Note   string     `json:"note"`
	Cells  []string   `json:"-"` // in the order of the list's header; of an example, the beginning or nil
}
