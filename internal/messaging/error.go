package messaging

import (
	"fmt"
	"strconv"
	"time"
)

// Proof is what an exchange proves about the message (docs/protocol.md#what-an-answer-proves).
type Proof uint8

const (
	// NotSent means that the service certainly did not accept the message.
	NotSent Proof = iota + 1
	// Doubt means that the service may have accepted the message. A webhook, or a late result of
	// the same attempt, can prove it.
	Doubt
	// DoubtNoID means that the answer was a 2xx without a usable messageId: the service accepted
	// the message, or something before it answered. No policy sends such a message again.
	DoubtNoID
)

// Action is what to do with the recipient after NotSent (docs/service.md#error-actions).
type Action uint8

const (
	// Refuse is final for this recipient.
	Refuse Action = iota + 1
	// RetryOnce allows one more try (send_retryable, send_media, 131000 and others of the table),
	// then Refuse.
	RetryOnce
	// RetryLater allows a try after the hold, because the recipient is not at fault (connection
	// refused, number paused). It counts no try.
	RetryLater
	// Slow tells the limiter that the service throttles, and allows another try. It counts no try.
	Slow
	// WaitPair delays this recipient only, by 6 s x 4^k (131056). It counts no try.
	WaitPair
	// RetryUnknown is for an answer that the document does not name, such as a page of a firewall.
	// The answer may concern the text of this one message, or all messages. It allows two more
	// tries, then Refuse.
	RetryUnknown
	// RefuseForNow is for a refusal with a code that is not in the table. It may concern this
	// recipient or every one. The recipient stays queued; it is refused when another message with
	// the same template and connection has been accepted since, or after some tries.
	RefuseForNow
)

// Hold is what else must stop (docs/service.md#error-actions). campaign.HoldScope has
// the same scopes.
type Hold uint8

const (
	// HoldNothing stops nothing else.
	HoldNothing Hold = iota
	// HoldPayload means that the payload is at fault. If it is repeated, the run pauses.
	HoldPayload
	// HoldConnection stops the connection, which may not send.
	HoldConnection
	// HoldTemplate stops this template of this account.
	HoldTemplate
	// HoldAccount stops every connection of the business account.
	HoldAccount
	// HoldCompany stops every connection of the company, which is suspended, or whose plan is used
	// up.
	HoldCompany
	// HoldKey stops everything that is sent with the API key: the key, or the address of the
	// service, is wrong.
	HoldKey
)

// EndedBy is what ends a hold. An operator can end each hold earlier.
type EndedBy uint8

const (
	// EndedByNothing is the EndedBy of HoldNothing and HoldPayload.
	EndedByNothing EndedBy = iota
	// EndedByTime ends the hold after Wait. An event about its scope ends it earlier.
	EndedByTime
	// EndedByNumberEvent ends the hold by an event about the number of the connection.
	EndedByNumberEvent
	// EndedByTemplateEvent ends the hold by an approval of the template.
	EndedByTemplateEvent
	// EndedByAccountEvent ends the hold by an event about the account or the company.
	EndedByAccountEvent
	// EndedByOperator means that no event ends the hold.
	EndedByOperator
)

// Feed is the suppression that a refusal adds.
type Feed uint8

const (
	// FeedNothing adds no suppression.
	FeedNothing Feed = iota
	// FeedOptOut suppresses marketing to the recipient (recipient_opted_out, 131050).
	FeedOptOut
	// FeedUnreachable suppresses every message to the recipient for a time (131026).
	FeedUnreachable
	// FeedBlocked suppresses every message of the connection's company to the recipient
	// (recipient_blocked).
	FeedBlocked
)

// Error is the error type of Send and of every other call. Unwrap returns the error of the
// transport, if there was one.
type Error struct {
	Proof Proof
	// Action is 0 unless Proof is NotSent.
	Action Action
	Hold   Hold
	Feed   Feed
	// Wait is how long to hold or to wait: the Retry-After of the answer, else the wait of the
	// table. 0 means the default of the caller.
	Wait time.Duration
	// EndedBy is what ends Hold.
	EndedBy EndedBy
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Code is the stable `error` of the service, or a code of this package: time_out, reset,
	// not_connected, accepted_no_id, http_502 and others. Sentence explains each.
	Code string
	// Message is prose of at most 600 bytes that is safe to show.
	Message string
	// Class is meta.errorClass.
	Class string
	// Platform is meta.code, 0 if it is absent.
	Platform int
	// Subcode is error_subcode of the platform, 0 if it is absent.
	Subcode int
	// Retryable is meta.retryable, nil if it is absent.
	Retryable *bool
	// TraceID is meta.traceId.
	TraceID string
	// RequestID is the header x-request-id.
	RequestID string
	// Err is the cause, if there is one.
	Err error

	reason string
}

// Reason returns the code that decided what the answer means: the platform's code in decimal, the
// service's, or http_401 and the like where the body says nothing known. Sentence explains it.
func (e *Error) Reason() string {
	switch {
	case e.reason != "":
		return e.reason
	case e.Platform != 0:
		return strconv.Itoa(e.Platform)
	}
	return e.Code
}

func (e *Error) Unwrap() error { return e.Err }

// Error returns one line, without the key, the recipient or the text of the message.
func (e *Error) Error() string {
	s := e.Code
	if e.Platform != 0 {
		s += fmt.Sprintf(" (platform code %d)", e.Platform)
	}
	if e.Status != 0 {
		s += fmt.Sprintf(", HTTP %d", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.RequestID != "" {
		s += " [request " + e.RequestID + "]"
	}
	return s
}

// Proven reports whether the answer proves that the service works: it refused the message, and for
// a reason that is known. A time-out, a reset, a 5xx, an acceptance without an id and a page of
// something in front of the service prove nothing.
func (e *Error) Proven() bool {
	return e.Proof == NotSent && e.Status != 0 && e.Action != RetryUnknown && e.reason != codeRedirect && e.reason != codeCDN
}
